export { AwsClients } from './aws-clients.js';
export { equip, refusesIdentity, statusOf } from './call-middleware.js';
export { type AwsIdentity } from './credentials-chain.js';
export { CredentialsUnavailable, SharedCredentials } from './shared-credentials.js';
