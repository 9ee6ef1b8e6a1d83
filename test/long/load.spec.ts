import { describeLoad } from '../support/load.js';

describeLoad(100, 100);
