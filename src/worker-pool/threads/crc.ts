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

export function hex32(value: number): string {
  return (value >>> 0).toString(16).padStart(8, '0');
}
