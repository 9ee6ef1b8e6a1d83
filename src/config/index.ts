export { ConfigurationError, EXIT_CONFIGURATION, loadConfiguration, type Configuration } from './configuration.js';
