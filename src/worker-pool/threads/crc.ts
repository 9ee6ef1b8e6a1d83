/** CRC-32C and CRC-64/NVME, byte by byte over a table. Node's zlib has only CRC-32. */

const CRC32C_POLYNOMIAL = 0x82f63b78;
const CRC64NVME_POLYNOMIAL = { high: 0x9a6c9329, low: 0xac4bc9b5 };

const crc32cTable = Uint32Array.from({ length: 256 }, (_, byte) => {
  let value = byte;
  for (let bit = 0; bit < 8; bit++) value = value & 1 ? (value >>> 1) ^ CRC32C_POLYNOMIAL : value >>> 1;
  return value >>> 0;
});

export class Crc32c {
  private state = 0xffffffff;

  update(bytes: Uint8Array): void {
    let state = this.state;
    for (const byte of bytes) state = (state >>> 8) ^ (crc32cTable[(state ^ byte) & 0xff] ?? 0);
    this.state = state;
  }

  hex(): string {
    return hex32(~this.state);
  }
}

/** 64-bit numbers as two halves: BigInt would be fifty times slower. */
const crc64Table = { high: new Uint32Array(256), low: new Uint32Array(256) };
for (let byte = 0; byte < 256; byte++) {
  let high = 0;
  let low = byte;
  for (let bit = 0; bit < 8; bit++) {
    const isOdd = (low & 1) === 1;
    low = (low >>> 1) | (high << 31);
    high >>>= 1;
    if (!isOdd) continue;
    high ^= CRC64NVME_POLYNOMIAL.high;
    low ^= CRC64NVME_POLYNOMIAL.low;
  }
  crc64Table.high[byte] = high;
  crc64Table.low[byte] = low;
}

export class Crc64Nvme {
  private high = 0xffffffff;
  private low = 0xffffffff;

  update(bytes: Uint8Array): void {
    let { high, low } = this;
    for (const byte of bytes) {
      const index = (low ^ byte) & 0xff;
      low = ((low >>> 8) | (high << 24)) ^ (crc64Table.low[index] ?? 0);
      high = (high >>> 8) ^ (crc64Table.high[index] ?? 0);
    }
    this.high = high;
    this.low = low;
  }

  hex(): string {
    return hex32(~this.high) + hex32(~this.low);
  }
}

/** x^(2^n) modulo the polynomial of CRC-32, n from 0 to 31; bits are reversed, so the highest stands for 1. */
const CRC32_POLYNOMIAL = 0xedb88320;
const ONE = 1 << 31;
const crc32Powers = new Int32Array(32);
crc32Powers[0] = 1 << 30;
for (let n = 1; n < 32; n++) crc32Powers[n] = multiplied(crc32Powers[n - 1] ?? 0, crc32Powers[n - 1] ?? 0);

function multiplied(a: number, b: number): number {
  let product = 0;
  for (let bit = ONE; bit !== 0; bit >>>= 1) {
    if ((a & bit) !== 0) product ^= b;
    b = (b & 1) === 0 ? b >>> 1 : (b >>> 1) ^ CRC32_POLYNOMIAL;
  }
  return product;
}

/** CRC-32 of two pieces of bytes as one, from that of each: the first is moved on by the length of the second. */
export function combinedCrc32(first: number, second: number, secondBytes: number): number {
  let shift = ONE;
  // A byte is 2^3 bits.
  for (let [n, left] = [3, secondBytes]; left > 0; n++, left = Math.floor(left / 2))
    if (left % 2 === 1) shift = multiplied(crc32Powers[n % 32] ?? 0, shift);
  return (multiplied(shift, first) ^ second) >>> 0;
}

export function hex32(value: number): string {
  return (value >>> 0).toString(16).padStart(8, '0');
}
