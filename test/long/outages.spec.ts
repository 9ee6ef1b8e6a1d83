import { describeOutages } from '../support/outages.js';

// test/e2e/outages.spec.ts has one way of each service.
describeOutages([
  'of DynamoDB, which answers 500,',
  'of DynamoDB, which cuts connections,',
  'of SQS, which answers 500,',
  'of SQS, which applies and does not answer,',
  'of Step Functions, which cuts connections,',
  'of Step Functions, which applies and does not answer,',
]);
