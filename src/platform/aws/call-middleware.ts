import { getSmithyContext } from '@smithy/core/transport';
import { withoutUndefined } from '../../shared/index.js';
import type { AwsIdentity } from './credentials-chain.js';
import { CredentialsUnavailable, type SharedCredentials } from './shared-credentials.js';

/**
 * Said of keys and session tokens that others may replace. Not `InvalidToken`: Step Functions says it of task tokens.
 * `SignatureDoesNotMatch` is left out, too: a wrong secret does not become right.
 */
const REFUSED_IDENTITY = new Set([
  'ExpiredToken',
  'ExpiredTokenException',
  'InvalidAccessKeyId',
  'InvalidClientTokenId',
  'RequestExpired',
  'TokenRefreshRequired',
  'UnrecognizedClientException',
]);

type Call<I, O> = (args: I) => Promise<O>;
type Context = Parameters<typeof getSmithyContext>[0];

/** The stack of any client of the SDK. */
interface Client {
  middlewareStack: {
    add(
      middleware: <I, O>(next: Call<I, O>, context: Context) => Call<I, O>,
      options: { step: 'initialize'; name: string; priority: 'high' | 'low'; override: true },
    ): void;
  };
}

/**
 * What every client of ours does beside the SDK: its errors name the service, the operation and the table, queue or bucket, which they do not do by themselves, and a call whose
 * credentials were refused is made once more with new ones. Nothing was carried out of a call that is refused so.
 */
export function equip(client: Client, service: string, credentials: SharedCredentials): void {
  client.middlewareStack.add(namingErrors(service), { step: 'initialize', name: 'namingErrors', priority: 'high', override: true });
  // Before the SDK chooses the credentials of a call, which it does once for all of its own retries.
  client.middlewareStack.add(renewing(credentials), { step: 'initialize', name: 'renewing', priority: 'low', override: true });
}

function namingErrors(awsService: string) {
  return <I, O>(next: Call<I, O>, context: Context): Call<I, O> =>
    async (args) => {
      try {
        return await next(args);
      } catch (error) {
        // That there are no credentials is no service's fault.
        if (!(error instanceof Error) || error instanceof CredentialsUnavailable) throw error;
        const call = withoutUndefined({ awsOperation: operationOf(context), awsResource: resourceOf(args) });
        throw Object.assign(error, { name: nameOf(error), awsService, ...call });
      }
    };
}

function operationOf({ commandName }: Context & { commandName?: unknown }): string | undefined {
  return typeof commandName === 'string' ? commandName.replace(/Command$/, '') : undefined;
}

/** The one thing of the input that may be told: which table, queue or bucket was called. */
function resourceOf(args: unknown): string | undefined {
  const { input = {} } = args as { input?: { TableName?: string; RequestItems?: object; QueueUrl?: string; Bucket?: string } };
  const [firstTable] = Object.keys(input.RequestItems ?? {});
  return input.TableName ?? firstTable ?? input.QueueUrl?.split('/').at(-1) ?? input.Bucket;
}

/** S3's answers to HEAD have no text, and the SDK calls what they say "Unknown". */
const NAMES_BY_STATUS: Readonly<Record<number, string>> = { 301: 'PermanentRedirect', 400: 'BadRequest', 403: 'AccessDenied' };
const NAMELESS = 'Unknown';

function nameOf(error: Error): string {
  return error.name === NAMELESS ? (NAMES_BY_STATUS[statusOf(error) ?? 0] ?? NAMELESS) : error.name;
}

function renewing(credentials: SharedCredentials) {
  return <I, O>(next: Call<I, O>, context: Context): Call<I, O> =>
    async (args) => {
      try {
        return await next(args);
      } catch (error) {
        const used = identityOf(context);
        if (!refusesIdentity(error) || !(await credentials.replace((identity) => used === undefined || isSame(identity, used))))
          throw error;
        return next(args);
      }
    };
}

function identityOf(context: Context): AwsIdentity | undefined {
  const { selectedHttpAuthScheme: scheme } = getSmithyContext(context) as { selectedHttpAuthScheme?: { identity?: AwsIdentity } };
  return scheme?.identity;
}

function isSame(a: AwsIdentity, b: AwsIdentity): boolean {
  return a.accessKeyId === b.accessKeyId && a.secretAccessKey === b.secretAccessKey && a.sessionToken === b.sessionToken;
}

/** A HEAD with an expired token is answered with a bare 400. */
export function refusesIdentity(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return REFUSED_IDENTITY.has(error.name) || (error.name === NAMELESS && statusOf(error) === 400);
}

/** Of the answer; `undefined` when there was none. */
export function statusOf(error: unknown): number | undefined {
  if (!(error instanceof Error) || !('$metadata' in error)) return undefined;
  return (error.$metadata as { httpStatusCode?: number } | undefined)?.httpStatusCode;
}
