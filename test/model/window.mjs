// The two pure decisions of the window rule, in one place: the model and the fairness simulation both use them.

/** How many batches of one job may be out: due (their message has been sent in this run) and not ended. */
export function windowOf({ perJobCap, totalCap, live, active }) {
  return Math.min(perJobCap * live, Math.max(1, Math.floor((totalCap * live) / active)));
}

/**
 * Which batch messages a top-up sends, and where the cursor stands after them.
 * `ended` has the batch numbers whose last count is in the job row.
 */
export function decideSend({ cursor, batchCount, ended }, window) {
  let outstanding = 0;
  for (let n = 0; n < cursor; n++) if (!ended.has(n)) outstanding++;
  const send = [];
  let next = cursor;
  for (let n = cursor; n < batchCount && outstanding + send.length < window; n++) {
    if (ended.has(n)) continue;
    send.push(n);
    next = n + 1;
  }
  return { send, next };
}
