import { describeBusyHosts, describeLimitedOrigin } from '../support/busy-hosts.js';

// Longer ones are in test/long/busy-hosts.spec.ts.
describeBusyHosts(300, 30);
describeLimitedOrigin(20, 60);
