/**
 * Sends what comes, `concurrency` at a time. The first failure aborts `work` with its error; whatever ends it, nothing is under way
 * any more when this throws: a part that arrives later would outlive its upload.
 */
export async function sendAll<T, R>(
  items: AsyncIterable<T> | Iterable<T>,
  options: { concurrency: number; work: AbortController; send: (item: T) => Promise<R> },
): Promise<R[]> {
  const { concurrency, work, send } = options;
  const sent: R[] = [];
  const underWay = new Set<Promise<void>>();
  try {
    for await (const item of items) {
      while (underWay.size >= concurrency) await Promise.race(underWay);
      const sending = send(item)
        .then(
          (result) => void sent.push(result),
          (error: unknown) => work.abort(error),
        )
        .finally(() => underWay.delete(sending));
      underWay.add(sending);
    }
  } finally {
    await Promise.all(underWay);
  }
  work.signal.throwIfAborted();
  return sent;
}
