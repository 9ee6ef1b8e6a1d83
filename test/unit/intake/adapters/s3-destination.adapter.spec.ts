import { S3Client, S3ServiceException } from '@aws-sdk/client-s3';
import { beforeEach, expect, it } from '@jest/globals';
import { S3DestinationAdapter } from '../../../../src/intake/adapters/s3-destination.adapter.js';
import { FakeClock } from '../../../support/fake-clock.js';

let answers: (Error | undefined)[];
let clock: FakeClock;
let destinations: S3DestinationAdapter;
beforeEach(() => {
  answers = [];
  clock = new FakeClock();
  const send = () => {
    const answer = answers.shift();
    return answer === undefined ? Promise.resolve({}) : Promise.reject(answer);
  };
  destinations = new S3DestinationAdapter(Object.assign(new S3Client({ region: 'eu-west-1' }), { send }), clock);
});

const status = (httpStatusCode: number) =>
  new S3ServiceException({ name: 'Unknown', $fault: 'client', $metadata: { httpStatusCode }, message: 'no' });

it.each([
  ['there', undefined],
  ['missing', status(404)],
  ['unknown', status(403)],
  ['unknown', status(301)],
  ['unknown', status(503)],
  ['unknown', new Error('no network')],
] as const)('says %s when HeadBucket meets %s', async (found, answer) => {
  answers.push(answer);
  await expect(destinations.look('exports')).resolves.toBe(found);
});

it('asks once a minute for a bucket, however many jobs come', async () => {
  answers.push(undefined, status(404));
  await expect(Promise.all([destinations.look('exports'), destinations.look('exports')])).resolves.toEqual(['there', 'there']);
  clock.jump(59_999);
  await expect(destinations.look('exports')).resolves.toBe('there');
  clock.jump(1);
  await expect(destinations.look('exports')).resolves.toBe('missing');
});

it('asks for a missing bucket each time: it may just have been created', async () => {
  answers.push(status(404), undefined);
  await expect(destinations.look('exports')).resolves.toBe('missing');
  await expect(destinations.look('exports')).resolves.toBe('there');
});
