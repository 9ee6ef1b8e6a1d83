import { ConditionalCheckFailedException } from '@aws-sdk/client-dynamodb';
import {
  PutCommand,
  UpdateCommand,
  type DynamoDBDocumentClient,
  type PutCommandInput,
  type UpdateCommandInput,
} from '@aws-sdk/lib-dynamodb';

/** The condition is not optional: no row of ours is ever written without one. */
export type ConditionalUpdate = Omit<UpdateCommandInput, 'ReturnValues' | 'ConditionExpression'> & { ConditionExpression: string };
export type ConditionalPut = Omit<PutCommandInput, 'ConditionExpression'> & { ConditionExpression: string };

/**
 * Refused: the condition does not hold. It may be this very write that an SDK retry met after its first reply was lost, so the
 * caller reads before it draws a conclusion.
 */
export type ConditionalOutcome = { kind: 'written'; item: unknown } | { kind: 'refused' };

/** @throws the SDK's other errors; whether anything was written is then unknown */
export async function conditionalUpdate(client: DynamoDBDocumentClient, update: ConditionalUpdate): Promise<ConditionalOutcome> {
  return unlessRefused(async () => (await client.send(new UpdateCommand({ ...update, ReturnValues: 'ALL_NEW' }))).Attributes);
}

/** @throws the SDK's other errors; whether anything was written is then unknown */
export async function conditionalPut(
  client: DynamoDBDocumentClient,
  put: ConditionalPut,
  signal?: AbortSignal,
): Promise<ConditionalOutcome> {
  return unlessRefused(async () => {
    await client.send(new PutCommand(put), signal === undefined ? {} : { abortSignal: signal });
    return put.Item;
  });
}

async function unlessRefused(write: () => Promise<unknown>): Promise<ConditionalOutcome> {
  try {
    return { kind: 'written', item: await write() };
  } catch (error) {
    if (error instanceof ConditionalCheckFailedException) return { kind: 'refused' };
    throw error;
  }
}
