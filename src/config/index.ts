/** Nest token of the frozen `Configuration`. */
export const CONFIGURATION = Symbol('CONFIGURATION');
export { ConfigurationError, EXIT_CONFIGURATION, loadConfiguration, type Configuration } from './configuration.js';
export { REQUIRED_SETTINGS, stallTimeoutProblem, type NeededSetting, type RequiredSetting } from './validation.schema.js';
export { packageVersion } from './package-version.js';
export { serviceFacts } from './service-facts.js';
