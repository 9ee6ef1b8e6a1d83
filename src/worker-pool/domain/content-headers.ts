/** Longer is no media type that anyone reads again. */
const MAX_LENGTH = 255;

/**
 * What S3 is told of a content, in the words of its source. A source may say anything here: what no header can carry, or no signature, is
 * left out. `aws-chunked` is how some stores sent the bytes, not what they are: S3 would unwrap them.
 */
export function contentHeaders(source: { contentType?: string; contentEncoding?: string }): Record<string, string> {
  const codings = source.contentEncoding?.split(',').map((coding) => coding.trim());
  return {
    ...plainHeader('content-type', source.contentType),
    ...plainHeader('content-encoding', codings?.filter((coding) => coding.toLowerCase() !== 'aws-chunked').join(', ')),
  };
}

function plainHeader(name: string, value: string | undefined): Record<string, string> {
  return value !== undefined && value.length <= MAX_LENGTH && /^[\x20-\x7e]+$/.test(value) ? { [name]: value } : {};
}
