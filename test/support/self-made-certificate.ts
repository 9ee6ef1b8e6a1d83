import { generateKeyPairSync, sign } from 'node:crypto';

/** What a TLS server needs, in PEM. */
export interface SelfMadeCertificate {
  key: string;
  cert: string;
}

/** Signed by itself, for one host name, made at each call: no key lies in the repository. */
export function selfMadeCertificate(host: string): SelfMadeCertificate {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const ecdsaWithSha256 = sequence(der(0x06, Buffer.from('2a8648ce3d040302', 'hex')));
  const commonName = sequence(der(0x06, Buffer.from('550403', 'hex')), der(0x0c, Buffer.from(host)));
  const name = sequence(der(0x31, commonName));
  const validity = sequence(der(0x17, Buffer.from('200101000000Z')), der(0x17, Buffer.from('491231235959Z')));
  const content = sequence(
    der(0x02, Buffer.from([1])),
    ecdsaWithSha256,
    name,
    validity,
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
  );
  const signature = der(0x03, Buffer.concat([Buffer.from([0]), sign('sha256', content, privateKey)]));
  const cert = sequence(content, ecdsaWithSha256, signature).toString('base64');
  return {
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    cert: `-----BEGIN CERTIFICATE-----\n${cert.replace(/.{64}/g, '$&\n').trim()}\n-----END CERTIFICATE-----\n`,
  };
}

function sequence(...values: Buffer[]): Buffer {
  return der(0x30, Buffer.concat(values));
}

/** Tag, length, value. */
function der(tag: number, value: Buffer): Buffer {
  if (value.length < 0x80) return Buffer.concat([Buffer.from([tag, value.length]), value]);
  const length = Buffer.alloc(2);
  length.writeUInt16BE(value.length);
  return Buffer.concat([Buffer.from([tag, 0x82]), length, value]);
}
