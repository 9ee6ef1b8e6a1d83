import { describeBusyHosts, describeLimitedOrigin } from '../support/busy-hosts.js';

describeBusyHosts(5_000, 200);
describeLimitedOrigin(20, 400);
describeLimitedOrigin(100, 1_000);
