import { describeOutages } from '../support/outages.js';

// One way of each service; the others are in test/long/outages.spec.ts.
describeOutages([
  'of DynamoDB, which applies and does not answer,',
  'of SQS, which cuts connections,',
  'of Step Functions, which answers 500,',
  'of S3, which answers 503,',
]);
