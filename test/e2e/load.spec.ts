import { describeLoad } from '../support/load.js';

// Ten times as many of each are in test/long/load.spec.ts.
describeLoad(10, 10);
