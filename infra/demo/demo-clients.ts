import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { S3Client } from '@aws-sdk/client-s3';
import { SFNClient } from '@aws-sdk/client-sfn';
import { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { LOCAL_REGION, type LocalAws } from '../local-aws/local-aws.js';

/** The demo's own view of the embedded AWS: the SDK, and nothing of the service. */
export interface DemoClients {
  s3: S3Client;
  states: SFNClient;
  documents: DynamoDBDocumentClient;
  destroy(): void;
}

export function createDemoClients({ endpoints }: LocalAws): DemoClients {
  const base = { region: LOCAL_REGION, credentials: { accessKeyId: 'demo', secretAccessKey: 'demo' } };
  // The bytes are hashed here against what they should be; the store's own checksum would only repeat its own mistake.
  const s3 = new S3Client({ ...base, endpoint: endpoints.s3, forcePathStyle: true, responseChecksumValidation: 'WHEN_REQUIRED' });
  const states = new SFNClient({ ...base, endpoint: endpoints.states });
  const documents = DynamoDBDocumentClient.from(new DynamoDBClient({ ...base, endpoint: endpoints.dynamodb }));
  return {
    s3,
    states,
    documents,
    destroy: () => {
      for (const client of [s3, states, documents]) client.destroy();
    },
  };
}
