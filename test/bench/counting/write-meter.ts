import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import type { TableDefinition } from '../../../infra/resources.js';
import { itemSize, writeUnits, type Item } from './item-size.js';

interface WriteInput {
  TableName: string;
  Item?: Item;
  Key?: Item;
  UpdateExpression?: string;
}

/** What the writes of one kind cost together. */
export interface Cost {
  writes: number;
  tableUnits: number;
  indexUnits: number;
}

/** Counts the write units of every write that a client sends, index writes included, by what the write was for. */
export class WriteMeter {
  readonly costs = new Map<string, Cost>();
  /** The last row seen of each key. */
  private readonly rows = new Map<string, Item>();
  private open = 0;

  constructor(
    client: DynamoDBDocumentClient,
    private readonly tables: readonly TableDefinition[],
    private readonly nameOf: (write: { isPut: boolean; expression: string }) => string,
  ) {
    client.middlewareStack.add(
      (next) => async (args) => {
        this.open++;
        try {
          const result = await next(args);
          this.note(args.input as WriteInput, (result.output as { Attributes?: Item }).Attributes);
          return result;
        } catch (error) {
          this.note(args.input as WriteInput, undefined);
          throw error;
        } finally {
          this.open--;
        }
      },
      { step: 'initialize' },
    );
  }

  get requestsOpen(): number {
    return this.open;
  }

  private note(input: WriteInput, attributes: Item | undefined): void {
    const after = input.Item ?? attributes;
    const isWrite = input.Item !== undefined || input.UpdateExpression !== undefined;
    if (!isWrite) return;
    const table = this.tables.find(({ name }) => name === input.TableName);
    if (table === undefined) throw new Error(`A write to an unknown table: ${input.TableName}`);
    const key = keyOf(table, after ?? input.Key ?? {});
    const before = this.rows.get(key);
    const cost = this.costOf(this.nameOf({ isPut: input.Item !== undefined, expression: input.UpdateExpression ?? '' }));
    cost.writes++;
    cost.tableUnits += writeUnits(Math.max(itemSize(before ?? {}), itemSize(after ?? {})));
    if (after === undefined) return;
    cost.indexUnits += indexUnits(table, before, after);
    this.rows.set(key, after);
  }

  private costOf(name: string): Cost {
    const cost = this.costs.get(name) ?? { writes: 0, tableUnits: 0, indexUnits: 0 };
    this.costs.set(name, cost);
    return cost;
  }
}

function keyOf({ name, partitionKey, sortKey }: TableDefinition, item: Item): string {
  return `${name}/${String(item[partitionKey.name])}/${sortKey === undefined ? '' : String(item[sortKey.name])}`;
}

/** Entries hold keys only, so each write is one unit: an entry that comes, one that goes; one whose key changes does both. */
function indexUnits({ indexes }: TableDefinition, before: Item | undefined, after: Item): number {
  let units = 0;
  for (const { partitionKey, sortKey } of indexes) {
    const entry = (item: Item | undefined) =>
      item?.[partitionKey.name] === undefined ? undefined : `${String(item[partitionKey.name])}/${String(item[sortKey.name])}`;
    const [old, now] = [entry(before), entry(after)];
    if (old !== now) units += (old === undefined ? 0 : 1) + (now === undefined ? 0 : 1);
  }
  return units;
}
