import type { Mutation } from '../mutation.js';

const THREADS = 'src/worker-pool/threads';
const HTTP_SOURCE = `${THREADS}/http-source.ts`;
const BODY = `${THREADS}/source-body.ts`;
const GUARD = `${THREADS}/source-guard.ts`;
const DISPATCHER = 'src/batches/application/task-dispatcher.service.ts';
const JUDGE = 'src/batches/application/try-judge.ts';
const LANE = 'src/batches/application/job-lane.ts';
const HOST = 'src/batches/domain/source-host.ts';
const PACE = 'src/batches/domain/host-pace.ts';
const TRUST = 'src/batches/domain/destination-trust.ts';
const PLACES = 'src/batches/domain/places.ts';
const METADATA = 'src/worker-pool/domain/object-metadata.ts';
const RESUME = 'src/worker-pool/domain/resume-point.ts';
const WISH = 'src/worker-pool/domain/patience-wish.ts';
const ON_WISH = ['unit/worker-pool/patience-wish.spec.ts'];
const ON_SILENCE = ['integration/worker-pool/silent-sources.spec.ts'];
const ON_WIRE = ['integration/worker-pool/raw-origin.spec.ts'];
const ON_TRANSFER = ['integration/worker-pool/transfer.spec.ts'];
const ON_BODY = ['unit/worker-pool/source-body.spec.ts'];
const ON_RESUMABLE = ['unit/worker-pool/resumable-body.spec.ts'];
const ON_REST = ['unit/worker-pool/resume-point.spec.ts'];
const ON_GUARD = ['unit/worker-pool/source-guard.spec.ts'];
const ON_DISPATCHER = ['unit/batches/application/task-dispatcher.service.spec.ts'];
const ON_HOSTS = ['unit/batches/application/host-pauses.spec.ts'];
const ON_METADATA = ['unit/worker-pool/object-metadata.spec.ts'];

/** What an origin sends is a whole file, or none. */
const WHOLE: readonly Mutation[] = [
  {
    rule: 'that is 206, unasked is a failure and no object',
    fault: 'every 2xx is a file',
    file: HTTP_SOURCE,
    find: 'if (response.statusCode === wanted) return response;',
    replace: 'if (response.statusCode >= 200 && response.statusCode < 300) return response;',
    specs: ON_WIRE,
  },
  {
    rule: 'fails when 6 bytes are expected of 5',
    fault: 'a body may be shorter than was said',
    file: BODY,
    find: 'if (expect.size !== undefined && bytes < expect.size) throw',
    replace: 'if (bytes < 0) throw',
    specs: ON_BODY,
  },
  {
    rule: 'fails when 4 bytes are expected of 5',
    fault: 'a body may be longer than was said',
    file: BODY,
    find: 'if (expect.size !== undefined && bytes > expect.size) throw',
    replace: 'if (bytes < 0) throw',
    specs: ON_BODY,
  },
  {
    rule: 'that ends with its connection is a failure and no object',
    fault: 'a body is whole where its connection ends',
    file: `${THREADS}/transfer.ts`,
    find: '!source.endIsKnown &&',
    replace: 'source.endIsKnown === undefined &&',
    specs: ON_WIRE,
  },
  {
    rule: 'refuses a manifest whose end nothing shows',
    fault: 'a manifest is whole where its connection ends',
    file: 'src/worker-pool/adapters/source-reader.ts',
    find: 'if (!endIsKnown) {',
    replace: 'if (endIsKnown === undefined) {',
    specs: ['integration/worker-pool/source-reader.spec.ts'],
  },
  {
    rule: 'whose chunks nobody undoes is a failure and no object',
    fault: 'white space that the parser does not know goes with chunked',
    file: 'src/worker-pool/domain/http-response.ts',
    find: '/^chunked *$/i',
    replace: '/^chunked\\s*$/i',
    specs: ON_WIRE,
  },
  {
    rule: 'gives up on a body that sends nothing while it is read',
    fault: 'no watchdog',
    file: BODY,
    find: 'const giveUp = () => reading && ',
    replace: 'const giveUp = () => false && ',
    specs: ON_BODY,
  },
  {
    rule: 'does not count the time in which nobody reads',
    fault: 'the watchdog runs while S3 is slow',
    file: BODY,
    find: 'const giveUp = () => reading && ',
    replace: 'const giveUp = () => ',
    specs: ON_BODY,
  },
];

/** What has come counts, also where it is read after its time. */
const BUSY: readonly Mutation[] = [
  {
    rule: 'is heard all the same when its answer came meanwhile',
    fault: 'a timer that is due is believed before the socket',
    file: `${THREADS}/answer-deadline.ts`,
    find: '(this.lastLook = setImmediate(late))',
    replace: 'late()',
    specs: ['integration/worker-pool/held-up-sources.spec.ts'],
  },
  {
    rule: 'is heard all the same when its bytes came meanwhile',
    fault: 'a timer that is due is believed before the socket',
    file: BODY,
    find: '(lastLook = setImmediate(giveUp))',
    replace: 'giveUp()',
    specs: ['integration/worker-pool/held-up-sources.spec.ts'],
  },
  {
    rule: 'follows a redirect to a host whose pause ended while the first host thought',
    fault: 'a pause lasts as long as its task',
    file: HTTP_SOURCE,
    find: ' - passedMs;',
    replace: ' - 0 * passedMs;',
    specs: ON_TRANSFER,
  },
  {
    rule: 'is given up when the rest is not answered',
    fault: 'a request for the rest waits for ever',
    file: `${THREADS}/resumable-body.ts`,
    find: 'asking.abort(cut)',
    replace: 'asking',
    specs: ON_RESUMABLE,
  },
];

/** What goes on after a cut is the rest of the same file. */
const RESUMED: readonly Mutation[] = [
  {
    rule: 'is not asked for again when its chunks were broken',
    fault: 'bytes before a broken chunk are taken for good',
    file: BODY,
    find: 'if (isNoHttp(error))',
    replace: 'if (error === undefined)',
    specs: ON_RESUMABLE,
  },
  {
    rule: 'is given up when it is cut once more after five resumes',
    fault: 'a source that cuts is asked for ever',
    file: `${THREADS}/resumable-body.ts`,
    find: 'while (this.resumes < MAX_RESUMES) {',
    replace: 'while (this.resumes < 10 * MAX_RESUMES) {',
    specs: ON_RESUMABLE,
  },
  {
    rule: 'is held to one least speed over all its resumes',
    fault: 'each resume begins the minute again',
    file: `${THREADS}/resumable-body.ts`,
    find: '...(speed && { speed })',
    replace: '...(speed && { speed: new (speed.constructor as new (least: number) => typeof speed)(100) })',
    specs: ON_RESUMABLE,
  },
  {
    rule: 'the least speed of a source is judged after a minute of reading: one byte in 10 s',
    fault: 'a body that is shorter than a minute’s worth is not judged',
    file: 'src/worker-pool/domain/least-speed.ts',
    find: 'if (waitedMs < this.windowMs || bytes',
    replace: 'if (waitedMs < this.windowMs || bytes < 60 || bytes',
    specs: ['unit/worker-pool/least-speed.spec.ts'],
  },
  {
    rule: 'does not count against the least speed the time in which nobody reads',
    fault: 'a slow S3 makes a source too slow',
    file: BODY,
    find: 'expect.speed?.note(performance.now() - beganAtMs,',
    replace: 'expect.speed?.note(performance.now(),',
    specs: ON_BODY,
  },
  {
    rule: 'is not asked for again when it has no validator',
    fault: 'the rest of anything is asked for',
    file: `${THREADS}/resumable-body.ts`,
    find: 'if (validator === undefined || this.bytes === 0',
    replace: "if ((validator as string | undefined) === '' || this.bytes === 0",
    specs: ON_RESUMABLE,
  },
  {
    rule: 'goes on from the byte it has',
    fault: 'the rest is asked for without If-Range',
    file: HTTP_SOURCE,
    find: ", 'if-range': point.validator }",
    replace: ' }',
    specs: ['integration/worker-pool/resume.spec.ts'],
  },
  {
    rule: 'is refused when it starts elsewhere',
    fault: 'a 206 is the rest wherever it starts',
    file: RESUME,
    find: 'Number(first) === point.offset && ',
    replace: '',
    specs: ON_REST,
  },
  {
    rule: 'is refused when it is of another version',
    fault: 'a 206 is the rest of whatever version',
    file: RESUME,
    find: 'if (isRest && isSameLength && isSameVersion && isSameCoding && isOnePart)',
    replace: 'if (isRest && isSameLength && isSameCoding && isOnePart)',
    specs: ON_REST,
  },
];

/** Where a URL may lead, and with what. */
const ALLOWED: readonly Mutation[] = [
  {
    rule: 'follows ten redirects and no more',
    fault: 'an eleventh is followed',
    file: HTTP_SOURCE,
    find: 'hop <= maxRedirects;',
    replace: 'hop <= maxRedirects + 1;',
    specs: ON_TRANSFER,
  },
  {
    rule: 'drops the caller’s headers when a redirect changes the origin',
    fault: 'another port is the same origin',
    file: HTTP_SOURCE,
    find: 'if (next.origin !== url.origin) headers = {};',
    replace: 'if (next.hostname !== url.hostname) headers = {};',
    specs: ON_TRANSFER,
  },
  {
    rule: 'drops the caller’s headers when a redirect changes the origin, for good',
    fault: 'they come back with the first origin',
    file: HTTP_SOURCE,
    find: 'if (next.origin !== url.origin) headers = {};',
    replace: 'headers = next.origin === parseUrl(address).origin ? callerHeaders(options.headers ?? {}) : {};',
    specs: ON_TRANSFER,
  },
  {
    rule: 'refuses a redirect to',
    fault: 'only the first URL is judged',
    file: HTTP_SOURCE,
    find: 'this.guard.checkUrl(url);',
    replace: 'if (hop === 0) this.guard.checkUrl(url);',
    specs: ON_TRANSFER,
  },
  {
    rule: 'are ended before a byte is sent when the socket turns out to be elsewhere',
    fault: 'the address of the socket is not judged',
    file: `${THREADS}/guarded-agent.ts`,
    find: 'if (guard.mayConnect(target.hostname, socket.remoteAddress)) return',
    replace: 'if (!socket.destroyed) return',
    specs: ['integration/worker-pool/guarded-agent.spec.ts'],
  },
  {
    rule: 'the look-up of a name answers with nothing for a name that leads to this machine',
    fault: 'every address of a name is connected to',
    file: GUARD,
    find: 'addresses.filter(({ address }) => this.mayConnect(hostname, address))',
    replace: 'addresses',
    specs: ON_GUARD,
  },
  {
    rule: 'a literal address in a URL http://[::127.0.0.1]/ is refused',
    fault: 'every IPv6 range that is not listed as special is public',
    file: GUARD,
    find: "ip instanceof ipaddr.IPv4 || ip.match(ipaddr.IPv6.parse('2000::'), 3)",
    replace: 'true',
    specs: ON_GUARD,
  },
  {
    rule: 'https://user:password@example.com/ is refused',
    fault: 'credentials in a URL are sent',
    file: GUARD,
    find: "if (url.username !== '' || url.password !== '') throw",
    replace: "if (url.protocol === '') throw",
    specs: ON_GUARD,
  },
  {
    rule: 's3://shared/_export/job/manifest.json is refused',
    fault: 'the results of other jobs are sources',
    file: GUARD,
    find: "if (location.key.includes('_export/')) throw",
    replace: "if (location.key === '') throw",
    specs: ON_GUARD,
  },
];

/** Nothing is visible in S3 that was not verified, and nothing is stored twice. */
const STORED: readonly Mutation[] = [
  {
    rule: 'takes a Complete without an answer for done when the object is of its size and its attempt, and only then',
    fault: 'of any attempt',
    file: `${THREADS}/multiparts.ts`,
    find: 'stored?.size === bytes && isOfAttempt(stored, attemptId)',
    replace: 'stored?.size === bytes',
    specs: ['unit/worker-pool/multiparts.spec.ts'],
  },
  {
    rule: 'was done when the taken key holds its own attempt',
    fault: 'an answer that was lost puts the object again',
    file: `${THREADS}/single-put.ts`,
    find: 'stored !== undefined && isOfAttempt(stored, request.attemptId)',
    replace: 'stored === undefined',
    specs: ['unit/worker-pool/single-put.spec.ts'],
  },
  {
    rule: 'looks at the key before anything is sent again when the connection failed',
    fault: 'what may have been refused is sent again',
    file: `${THREADS}/single-put.ts`,
    find: "answer === 'taken' || answer === 'unanswered'",
    replace: "answer === 'taken'",
    specs: ['unit/worker-pool/single-put.spec.ts'],
  },
  {
    rule: 'is found with one download though the store closes before it has answered that the key is taken',
    fault: 'a conditional PutObject whose connection failed is sent again',
    file: `${THREADS}/object-store.ts`,
    find: 'stopsAt: ({ status }) => status === undefined',
    replace: 'stopsAt: () => false',
    specs: ['integration/worker-pool/done-before.spec.ts'],
  },
  {
    rule: 'that refuses at Complete, behind a 200, is not asked again for this file',
    fault: 'whatever comes behind a 200 may pass',
    file: `${THREADS}/s3-requests.ts`,
    find: ' || isAboutBucket(code)',
    replace: '',
    specs: ['integration/worker-pool/upload-faults.spec.ts'],
  },
  {
    rule: 'that always gets other bytes at CompleteMultipartUpload',
    fault: 'a mismatch is a store that is away for a while',
    file: `${THREADS}/object-store.ts`,
    find: "if (code === 'BadDigest')",
    replace: "if (code === 'NoSuchDigest')",
    specs: ['integration/worker-pool/upload-faults.spec.ts'],
  },
  {
    rule: 'as a copy is refused by its destination only where S3 says so',
    fault: 'a source that may not be read is taken for a refusal of the destination',
    file: `${THREADS}/object-store.ts`,
    find: 'isOfDestination(error) ? destinationRefused(bucket, error) : undefined',
    replace: 'destinationRefused(bucket, error)',
    specs: ['integration/worker-pool/s3-requests.spec.ts'],
  },
  {
    rule: 'never gives one that may still be read, nor the same one twice',
    fault: 'the buffer of a failed request goes to the next part',
    file: `${THREADS}/memory-budget.ts`,
    find: "after === 'reuse' && bytes",
    replace: 'bytes',
    specs: ['unit/worker-pool/memory-budget.spec.ts'],
  },
  {
    rule: 'tells the CRC-32 of each part as its bytes came',
    fault: 'of its last chunk alone',
    file: `${THREADS}/part-filler.ts`,
    find: 'checksum = crc32(rest.subarray(0, copied), checksum);',
    replace: 'checksum = crc32(rest.subarray(0, copied));',
    specs: ['unit/worker-pool/part-filler.spec.ts'],
  },
  {
    rule: 'verifies before anything becomes visible',
    fault: 'a multipart upload is completed unverified',
    file: `${THREADS}/uploader.ts`,
    find: '({ sha256 } = request.verify());',
    replace: "sha256 = '';",
    specs: ['unit/worker-pool/uploader.spec.ts'],
  },
  {
    rule: 'agrees with the known crc64nvme and refuses another',
    fault: 'another checksum than the given one passes',
    file: `${THREADS}/digests.ts`,
    find: 'if (actual !== this.checksum?.value) throw',
    replace: 'if (actual === undefined && this.checksum !== undefined) throw',
    specs: ['unit/worker-pool/digests.spec.ts'],
  },
  {
    rule: 'never sends a part 10,001',
    fault: 'it is sent',
    file: 'src/worker-pool/domain/part-plan.ts',
    find: 'number > MAX_PARTS ? undefined',
    replace: 'number > MAX_PARTS + 1 ? undefined',
    specs: ['unit/worker-pool/uploader.spec.ts'],
  },
  {
    rule: 'isSameObject another size: false',
    fault: 'an object of another size is left alone',
    file: METADATA,
    find: 'if (size === undefined || stored.size !== size) return false;',
    replace: 'if (size === undefined) return false;',
    specs: ON_METADATA,
  },
  {
    rule: 'isSameObject a weak ETag: false',
    fault: 'a weak ETag tells that nothing has changed',
    file: METADATA,
    find: "source.etag === undefined || source.etag.startsWith('W/')",
    replace: 'source.etag === undefined',
    specs: ON_METADATA,
  },
  {
    rule: 'isSameObject a checksum that the object was not verified with: false',
    fault: 'the ETag is enough where a checksum is given',
    file: METADATA,
    find: "if (task.checksum !== undefined) return stored.metadata['checksum'] === checksumText(task.checksum);",
    replace: '',
    specs: ON_METADATA,
  },
];

/** How often, and of whom, a file is asked for. */
const PATIENCE: readonly Mutation[] = [
  {
    rule: 'CHECKSUM_MISMATCH twice is an answer',
    fault: 'it is tried as often as any other failure',
    file: JUDGE,
    find: 'const MAX_MISMATCHES = 2;',
    replace: 'const MAX_MISMATCHES = 20;',
    specs: ON_DISPATCHER,
  },
  {
    rule: 'CHECKSUM_MISMATCH twice is an answer',
    fault: 'there is no second try',
    file: JUDGE,
    find: 'const MAX_MISMATCHES = 2;',
    replace: 'const MAX_MISMATCHES = 1;',
    specs: ON_DISPATCHER,
  },
  {
    rule: 'a host that asks for patience gets no task of any job until its time is over',
    fault: 'the host is left alone for a second, whatever it asks for',
    file: HOST,
    find: 'const waitMs = Math.max(forMs ?? 0,',
    replace: 'const waitMs = Math.max(1_000,',
    specs: ON_HOSTS,
  },
  {
    rule: 'fails a file with its code after a quarter of an hour in which it refused that file and served others',
    fault: 'a file that its host alone refuses is tried for ever',
    file: JUDGE,
    find: 'dispatched.pardoned >= this.taskMaxAttempts && now',
    replace: 'false && now',
    specs: ON_HOSTS,
  },
  {
    rule: 'a host that opens between two looks at the clock gets its task all the same',
    fault: 'the timer is armed by another look than the one that found the host closed',
    file: DISPATCHER,
    find: 'this.arm(now);',
    replace: 'this.arm(this.now());',
    specs: ON_HOSTS,
  },
  {
    rule: 'a full host has so many tasks at once over all jobs',
    fault: 'a host gets one connection more',
    file: HOST,
    find: 'this.running < this.limit',
    replace: 'this.running <= this.limit',
    specs: ON_HOSTS,
  },
  {
    rule: 'gives at least 80 % of',
    fault: 'after a pause everything starts at once',
    file: PACE,
    find: 'if (rate !== Infinity) this.nextStartAt',
    replace: 'if (rate < 0) this.nextStartAt',
    specs: ['unit/batches/application/paced-hosts.spec.ts'],
  },
  {
    rule: 'a bare 503 is the fault of its file while the host serves others',
    fault: 'any 503 pauses its host for everybody',
    file: HOST,
    find: 'return this.pace.isLimited(now) || this.busyShare > BUSY_SHARE;',
    replace: 'return true;',
    specs: ['unit/batches/domain/source-host.spec.ts'],
  },
  {
    rule: 'a host that answers nobody gets a few connections, one every 15 s, after four tries in a row',
    fault: 'it is asked with all of its connections for ever',
    file: HOST,
    find: 'this.isSilent ? PROBES : Infinity',
    replace: 'Infinity',
    specs: ['unit/batches/domain/source-host.spec.ts'],
  },
  {
    rule: 'are shared fairly: a small job has its share at once, beside a huge one that holds every place',
    fault: 'it waits until the huge one gives a place up',
    file: PLACES,
    find: 'return isBelowShare || (',
    replace: 'return (',
    specs: ON_DISPATCHER,
  },
  {
    rule: 'are not held by tasks whose source is silent, until it is heard again',
    fault: 'a task that waits for its source keeps its place',
    file: DISPATCHER,
    find: "place.becomes('silent');",
    replace: '',
    specs: ON_DISPATCHER,
  },
  {
    rule: 'a destination that refuses is told as an error with the first file, gets one file at a time from then on, and ends the job',
    fault: 'one file after another is downloaded for nothing',
    file: LANE,
    find: 'if (this.destination.isInDoubt) return 1;',
    replace: '',
    specs: ON_DISPATCHER,
  },
  {
    rule: 'is said to refuse it after five files, which take 15 s, because a new policy or role is not known everywhere at once',
    fault: 'a role that S3 does not know yet everywhere ends every job within two seconds',
    file: TRUST,
    find: 'return Math.min(PAUSE_CAP_MS, PAUSE_BASE_MS * 2 ** (this.refusals - 1));',
    replace: 'return 0;',
    specs: ['unit/batches/domain/destination-trust.spec.ts'],
  },
  {
    rule: 'does not end the job with a prefix of twenty files when others were stored',
    fault: 'a policy that denies one prefix ends the job',
    file: TRUST,
    find: 'this.hasTaken ? MAX_REFUSALS_AFTER_STORING : MAX_REFUSALS',
    replace: 'MAX_REFUSALS',
    specs: ON_DISPATCHER,
  },
  {
    rule: 'a host that refuses connections for four minutes fails none of its files',
    fault: 'a host that restarts costs its files their tries',
    file: JUDGE,
    find: "error.code === UNREACHABLE && whose === 'host'",
    replace: 'false',
    specs: ['unit/batches/application/unreachable-hosts.spec.ts'],
  },
  {
    rule: 'a host that answers again after a silence gets all of its connections at once with its first bytes',
    fault: 'nothing looks until another task ends',
    file: DISPATCHER,
    find: 'if (wasSilent) this.fill();',
    replace: '',
    specs: ON_DISPATCHER,
  },
  {
    rule: 'not when jobs that are all silent have as many silent tasks as their shares allow, beside one that is busy',
    fault: 'jobs that are only silent do not count each other',
    file: PLACES,
    find: 'shareOf(places * SILENT_PER_PLACE, jobs.running)',
    replace: 'shareOf(places * SILENT_PER_PLACE, jobs.busy)',
    specs: ['unit/batches/domain/places.spec.ts'],
  },
  {
    rule: 'the watchdog says as an error that tasks wait although they could run, and lets them run',
    fault: 'nobody watches',
    file: DISPATCHER,
    find: 'this.watchdog.watch(this.lanes.size > 0 && !this.paused);',
    replace: '',
    specs: ON_DISPATCHER,
  },
  {
    rule: 'Retry-After 86400 is 300000 ms',
    fault: 'a host may ask for a day',
    file: WISH,
    find: 'Math.min(Math.max(waitMs, 0), MAX_RETRY_AFTER_MS)',
    replace: 'Math.max(waitMs, 0)',
    specs: ON_WISH,
  },
  {
    rule: 'is a wish for patience of its host all the same',
    fault: 'only a time makes a wish',
    file: WISH,
    find: 'if (retryAfterMs === undefined && !isLimit) return {};',
    replace: 'if (retryAfterMs === undefined) return {};',
    specs: ON_WISH,
  },
  {
    rule: 'counts with 202 for its file alone',
    fault: 'a file that is not ready pauses its host',
    file: WISH,
    find: '...(status !== 202 && { retryAfterHost: host })',
    replace: 'retryAfterHost: host',
    specs: ON_WISH,
  },
  {
    rule: 'make a wait of a 403 whose limit is used up',
    fault: 'a limit speaks with 429 and 503 alone',
    file: WISH,
    find: ' || (status === 403 && isLimitUsedUp(headerOf))',
    replace: '',
    specs: ON_WISH,
  },
  {
    rule: 'hands on the pause that a source asks for',
    fault: 'a wish without a time burns the resumes',
    file: `${THREADS}/resumable-body.ts`,
    find: 'if (asksForPatience(error)) throw error;',
    replace: 'if (error.retryAfterMs !== undefined) throw error;',
    specs: ON_RESUMABLE,
  },
  {
    rule: 'that sends a little every second is not silent',
    fault: 'what comes of a body is not noted',
    file: BODY,
    find: 'expect.wait?.heard();',
    replace: '',
    specs: ON_SILENCE,
  },
  {
    rule: 'that takes the request and does not answer is silent',
    fault: 'only a body is waited for',
    file: HTTP_SOURCE,
    find: 'wait?.begin();',
    replace: '',
    specs: ON_SILENCE,
  },
  {
    rule: 'gives a task to the thread that reads least, whose silent sources do not count',
    fault: 'to the one with the fewest in hand',
    file: 'src/worker-pool/adapters/pool-manager.service.ts',
    find: 'a.reading - b.reading || a.inHand - b.inHand',
    replace: 'a.inHand - b.inHand',
    specs: ['integration/worker-pool/pool-spread.spec.ts'],
  },
  {
    rule: 'keys given twice are found in every format',
    fault: 'the second file silently wins',
    file: 'src/intake/adapters/manifest/duplicate-keys.ts',
    find: 'else if (this.#suspects.size < MAX_SUSPECTS) this.#suspects.set(nameOf(hash), { times: 2, metAgain: 0, places: new Map() });',
    replace: 'else if (this.#suspects.size < MAX_SUSPECTS) continue;',
    specs: ['unit/intake/adapters/manifest/read-manifest.spec.ts'],
  },
];

export const TRANSFER_MUTATIONS: readonly Mutation[] = [...WHOLE, ...BUSY, ...RESUMED, ...ALLOWED, ...STORED, ...PATIENCE];
