/** So many requests in any second, and no more. */
export class RequestLimit {
  private served: number[] = [];

  constructor(private readonly perSecond = Infinity) {}

  allows(): boolean {
    if (this.perSecond === Infinity) return true;
    const now = performance.now();
    this.served = this.served.filter((at) => now - at < 1_000);
    if (this.served.length >= this.perSecond) return false;
    this.served.push(now);
    return true;
  }
}
