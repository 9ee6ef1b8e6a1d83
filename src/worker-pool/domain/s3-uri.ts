export interface S3Location {
  bucket: string;
  key: string;
}

/** Whether a source lies in S3, by its scheme: it may still name no object. */
export function isS3Uri(url: string): boolean {
  return /^s3:/i.test(url);
}

/** `s3://bucket/key`; the key is taken as it stands, as the AWS CLI does: nothing in it is decoded. */
export function parseS3Uri(uri: string): S3Location | undefined {
  const match = /^s3:\/\/([^/?#@]+)\/(.+)$/is.exec(uri);
  return match?.[1] === undefined || match[2] === undefined ? undefined : { bucket: match[1], key: match[2] };
}
