import { Readable } from 'node:stream';
import { GetObjectCommand, NoSuchKey, PutObjectCommand, S3Client } from '@aws-sdk/client-s3';

/** The real client class on objects by key: gets and puts of small ones, and what S3 says of one that is not there. */
export function s3Objects(objects: Record<string, string | Error>): { client: S3Client; objects: Record<string, string | Error> } {
  const send = (command: unknown): Promise<unknown> => {
    if (command instanceof PutObjectCommand) {
      const { Key = '', Body } = command.input;
      if (!(Body instanceof Buffer)) return Promise.reject(new Error('not played here'));
      objects[Key] = Body.toString();
      return Promise.resolve({});
    }
    if (!(command instanceof GetObjectCommand)) return Promise.reject(new Error('not played here'));
    const object = objects[command.input.Key ?? ''] ?? new NoSuchKey({ message: 'The specified key does not exist.', $metadata: {} });
    return object instanceof Error ? Promise.reject(object) : Promise.resolve({ Body: Readable.from([Buffer.from(object)]) });
  };
  return { client: Object.assign(new S3Client({ region: 'eu-west-1' }), { send }), objects };
}
