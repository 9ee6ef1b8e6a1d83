import { beforeEach, expect, it } from '@jest/globals';
import { SqsDeadLetterAdapter } from '../../../../src/intake/adapters/sqs-dead-letter.adapter.js';
import { MAX_MESSAGE_BYTES, messageBytes, type OutgoingMessage } from '../../../../src/platform/sqs/index.js';
import { AppError } from '../../../../src/shared/index.js';

let sent: OutgoingMessage[];
let maxBytes: number;
let deadLetters: SqsDeadLetterAdapter;
beforeEach(() => {
  sent = [];
  maxBytes = MAX_MESSAGE_BYTES;
  const send = async (message: OutgoingMessage) => {
    if (messageBytes(message) > maxBytes) throw new AppError('SQS_MESSAGE_REFUSED', 'too long', { disposition: 'reject' });
    sent.push(message);
  };
  deadLetters = new SqsDeadLetterAdapter({ send });
});

it('A copy is the body as it is, and the reason', async () => {
  await expect(deadLetters.copy('body', 'a reason')).resolves.toEqual({ cut: false });
  expect(sent).toEqual([{ body: 'body', attributes: { reason: 'a reason' } }]);
});

it('A body that leaves no room for the reason is cut, between two characters, and says from how many bytes', async () => {
  const body = '🎉'.repeat(262_144);
  await expect(deadLetters.copy(body, 'not JSON')).resolves.toEqual({ cut: true });
  const [copy = { body: '' }] = sent;
  expect(copy.attributes).toEqual({ reason: 'not JSON', cutFromBytes: '1048576' });
  expect(messageBytes(copy)).toBeGreaterThan(MAX_MESSAGE_BYTES - 4);
  expect(copy.body.replaceAll('🎉', '')).toBe('');
});

it('A copy is cut further for a queue that takes less than SQS allows', async () => {
  maxBytes = 262_144;
  await expect(deadLetters.copy('x'.repeat(600_000), 'not JSON')).resolves.toEqual({ cut: true });
  expect(sent).toHaveLength(1);
  expect(messageBytes(sent[0] ?? { body: '' })).toBe(262_144);
});

it('A refusal that no cut can mend is told', async () => {
  maxBytes = 1_000;
  await expect(deadLetters.copy('x'.repeat(600_000), 'not JSON')).rejects.toThrow('too long');
  await expect(deadLetters.copy('x'.repeat(2_000), 'not JSON')).rejects.toThrow('too long');
});

it('Neither an empty body nor a control character in the reason is sent', async () => {
  await deadLetters.copy('', 'a\u0000b\n');
  await deadLetters.copy('', '');
  expect(sent).toEqual([
    { body: ' ', attributes: { reason: 'a b ' } },
    { body: ' ', attributes: { reason: 'unknown' } },
  ]);
});
