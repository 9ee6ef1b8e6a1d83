import { GetCommand } from '@aws-sdk/lib-dynamodb';
import { defineResources, type TableDefinition } from '../../infra/resources.js';
import { createTable, startDynamoDb } from '../../infra/local-aws/dynamodb.js';
import { FaultRules } from '../../infra/local-aws/gateway-faults.js';
import { RequestLog } from '../../infra/local-aws/request-log.js';
import { createAwsClients, type AwsClients } from './local-aws.js';

export interface EmbeddedDynamoDb {
  documents: AwsClients['documents'];
  jobsTable: string;
  batchesTable: string;
  tables: readonly TableDefinition[];
  /** A row of the jobs table. */
  item(key: { jobId: string }): Promise<Record<string, unknown>>;
  reclaimsTable: string;
  coordinatorsTable: string;
  close(): Promise<void>;
}

/** Only the tables of the embedded AWS: what the repositories need. */
export async function startEmbeddedDynamoDb(): Promise<EmbeddedDynamoDb> {
  const { jobs, batches, reclaims, coordinators } = defineResources('conformance').tables;
  const tables: TableDefinition[] = [jobs, batches, reclaims, coordinators];
  const endpoint = await startDynamoDb({ log: new RequestLog(), faults: new FaultRules(), tables });
  const clients = createAwsClients({ AWS_ENDPOINT_URL_DYNAMODB: endpoint.url });
  await Promise.all(tables.map((table) => createTable(clients.dynamodb, table)));
  return {
    documents: clients.documents,
    jobsTable: jobs.name,
    batchesTable: batches.name,
    tables,
    item: async (Key) => (await clients.documents.send(new GetCommand({ TableName: jobs.name, Key, ConsistentRead: true }))).Item ?? {},
    reclaimsTable: reclaims.name,
    coordinatorsTable: coordinators.name,
    close: async () => {
      clients.destroy();
      await endpoint.close();
    },
  };
}
