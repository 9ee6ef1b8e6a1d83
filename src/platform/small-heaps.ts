import { setFlagsFromString } from 'node:v8';

/**
 * Keeps the heaps of this process, those of the threads too, near what they need (docs/decisions/0014). To be called before the
 * modules are loaded, which is when much of the garbage arises. Set here and not on the command line, so that no way of starting
 * the service can leave it out: V8 reads these flags whenever it decides on growth, where sizes are fixed once a heap exists.
 */
export function keepHeapsSmall(): void {
  // Semi-spaces stay at the 1 MiB they begin with. Otherwise they grow to 16 or 32 MiB and are not given back.
  setFlagsFromString('--semi-space-growth-factor=1');
  // The old generation is collected when it is half as large again as what lived in it. Otherwise it may be up to four times as large.
  setFlagsFromString('--heap-growing-percent=50');
}
