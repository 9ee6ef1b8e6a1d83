import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, it } from '@jest/globals';

/*
 * The rules of a transfer, from URL to object, each with a test that says it: where to look when a rule is in question, and what turns red
 * here when its test goes away. The most valuable ones also have a fault that their test must catch: test/chaos/mutations/rules/transfer.ts.
 */

const ROOT = resolve(import.meta.dirname, '..');
const INTEGRATION = 'integration/worker-pool/';
const UNIT = 'unit/worker-pool/';
const MANIFEST = 'unit/intake/adapters/manifest/read-manifest.spec.ts';
const TASK = 'unit/intake/domain/manifest-task.spec.ts';
const PAUSES = 'unit/batches/application/host-pauses.spec.ts';
const DISPATCHER = 'unit/batches/application/task-dispatcher.service.spec.ts';
const E2E = 'e2e/transfers.spec.ts';

type Rule = [rule: string, spec: string, test: string];

const RULES: Record<string, Rule[]> = {
  'the pool': [
    [
      'has 4 threads of 8 tasks, 64 MiB each, 4 parts in flight, 32 connections a host, unless told otherwise',
      'unit/config/configuration.spec.ts',
      'has the defaults of the design',
    ],
    ['is as large as threads × tasks', `${INTEGRATION}pool-threads.spec.ts`, 'is as large as threads × tasks per worker'],
    [
      'runs no more than that at once, on the wire',
      'e2e/main-path.spec.ts',
      'downloads as many files at a time as threads × tasks per worker, and no more',
    ],
    [
      'counts no source that is silent',
      `${INTEGRATION}pool-spread.spec.ts`,
      'gives a task to the thread that reads least, whose silent sources do not count',
    ],
    ['is fed fairly across jobs', DISPATCHER, 'are shared fairly: a small job has its share at once, beside a huge one'],
    ['gives a place on once its source is read', DISPATCHER, 'are given on as soon as a source has been read'],
    ['gives a job no more than its maxConcurrency', DISPATCHER, 'are not given to a job beyond its maxConcurrency'],
    ['takes only what the protocol can carry', `${INTEGRATION}pool-threads.spec.ts`, 'refuses a task that the protocol cannot carry'],
    [
      'gets through whatever an origin answers',
      `${INTEGRATION}built-threads.spec.ts`,
      'get through every answer that an origin may give, without losing a life',
    ],
    ['tells of progress once a second at most', `${INTEGRATION}built-threads.spec.ts`, 'tell of progress once a second at most'],
    [
      'aborts one task and its neighbours go on',
      `${INTEGRATION}built-threads.spec.ts`,
      'abort one task while its neighbours in the thread go on',
    ],
    [
      'leaves no upload of an aborted task',
      `${INTEGRATION}built-threads.spec.ts`,
      'obey an abort, leave no upload and end when the pool stops',
    ],
    ['ends only a thread that does not obey within 5 s', `${INTEGRATION}pool-threads.spec.ts`, 'ends a thread that keeps an aborted task'],
    ['waits so long', `${UNIT}limits.spec.ts`, 'A thread has 5 s to obey an abort, and 30 s to answer a ping'],
    [
      'fails only the tasks of a thread that exits, throws or runs out of heap, as retryable',
      `${INTEGRATION}pool-threads.spec.ts`,
      'fails only the tasks of a thread that does “%s”, and replaces it',
    ],
    ['replaces it with backoff', `${UNIT}pool-thread.spec.ts`, 'is replaced ever later, up to a limit'],
    [
      'does not respawn for ever what dies while booting',
      `${INTEGRATION}pool-threads.spec.ts`,
      'gives up a thread that dies whenever it boots',
    ],
    ['replaces a thread that hangs', `${INTEGRATION}pool-threads.spec.ts`, 'replaces a thread that hangs'],
    ['holds no more bytes than the budget of each thread', `${UNIT}uploader.spec.ts`, 'holds no more than the budget over all its uploads'],
    [
      'whatever length a source claims',
      `${INTEGRATION}upload-sizes.spec.ts`,
      'of a lying length that the memory allows holds no more than that',
    ],
    [
      'has a task wait for budget before it reads on',
      `${INTEGRATION}upload-faults.spec.ts`,
      'moves files larger than its memory side by side',
    ],
  ],
  'a download': [
    [
      'is asked for as identity, with the caller’s headers',
      `${INTEGRATION}transfer.spec.ts`,
      'sends the caller’s headers, but not those that change the framing',
    ],
    ['keeps content codings as sent', `${INTEGRATION}transfer.spec.ts`, 'stores the bytes of a content coding as they are, and its name'],
    ['succeeds with 200 only', `${INTEGRATION}transfer.spec.ts`, 'refuses a $status and lets go of its body'],
    ['from S3 too', `${UNIT}source-opener.spec.ts`, 'Success is 200 only'],
    ['is of the expected type', `${INTEGRATION}transfer.spec.ts`, 'refuses another type than the expected one'],
    ['and no login page', `${INTEGRATION}transfer.spec.ts`, 'refuses a login page behind a redirect'],
    ['has the bytes that its task says', `${INTEGRATION}transfer.spec.ts`, 'refuses 5 bytes where the task says %i, before reading them'],
    ['has the bytes that its length says', `${INTEGRATION}transfer.spec.ts`, 'refuses a body whose connection is $how'],
    [
      'is not more than that',
      `${INTEGRATION}raw-origin.spec.ts`,
      'ends where its length says: what comes after is no answer to the next request',
    ],
    [
      'is whole wherever the wire is cut, or is none',
      `${INTEGRATION}raw-origin.spec.ts`,
      'after any of its bytes, by an end or a reset, is a failure that may pass and no object',
    ],
    [
      'shows where it ends, or is proven by size or checksum',
      `${INTEGRATION}transfer.spec.ts`,
      'refuses a body that ends with its connection, unless size or checksum prove it whole',
    ],
    ['is what its origin meant, or fails', `${INTEGRATION}raw-origin.spec.ts`, 'that %s is a failure and no object'],
    [
      'is what its origin meant, whatever the network did',
      `${INTEGRATION}mutated-answers.spec.ts`,
      'are the object that the origin meant, or a failure in time and no object',
    ],
    ['is given up in time', `${INTEGRATION}endless-answers.spec.ts`, 'is given up in time, and its connection with it'],
    [
      'within these times',
      `${UNIT}limits.spec.ts`,
      'A source has 10 s to connect, 2.5 s for each address, 60 s to answer and 60 s for its next byte',
    ],
    ['tries every address', `${INTEGRATION}guarded-agent.spec.ts`, 'are tried at the next one after a while'],
    ['of either family', `${INTEGRATION}guarded-agent.spec.ts`, 'go to IPv4 when nobody is there on IPv6'],
    ['does not wait for dead DNS', `${INTEGRATION}guarded-agent.spec.ts`, 'fail in time when the resolver is silent'],
    ['nor lets it hold other names up', `${UNIT}shared-look-ups.spec.ts`, 'of one name are one, and all who asked are told'],
    ['is not taken for silent while S3 is slow', `${INTEGRATION}held-up-sources.spec.ts`, 'is not taken for silent meanwhile'],
    ['and is found silent all the same', `${INTEGRATION}held-up-sources.spec.ts`, 'is found silent all the same, once it is read again'],
    ['ends at the task’s timeout', `${INTEGRATION}transfer.spec.ts`, 'ends at the task’s timeout'],
    [
      'goes on after a cut, without losing what is uploaded',
      `${INTEGRATION}resume.spec.ts`,
      'goes on from the byte it has, and keeps the parts that are uploaded',
    ],
    ['up to 5 times', `${UNIT}resumable-body.spec.ts`, 'is given up when it is cut once more after five resumes'],
    ['only with a strong ETag or a settled date', `${UNIT}resume-point.spec.ts`, 'of $why is $validator'],
    ['only with the rest of the same file', `${UNIT}resume-point.spec.ts`, 'is refused when it $why'],
    ['else begins anew', `${INTEGRATION}resume.spec.ts`, 'begins anew, as another try, when it is answered with $why'],
    ['not after broken chunks', `${INTEGRATION}resume.spec.ts`, 'is not gone on with when its chunks were broken'],
    ['follows 10 redirects', `${INTEGRATION}transfer.spec.ts`, 'follows ten redirects and no more'],
    [
      'keeps credentials for their origin',
      `${INTEGRATION}transfer.spec.ts`,
      'drops the caller’s headers when a redirect changes the origin, for good',
    ],
    ['from http to https', `${INTEGRATION}https-source.spec.ts`, 'is not told the caller’s headers when http leads to it'],
    ['from https to http', `${INTEGRATION}https-source.spec.ts`, 'keeps the caller’s headers to itself when it leads to http'],
    ['is tried again after 408, 425, 429 and 5xx', `${UNIT}http-response.spec.ts`, '%i is worth another try'],
    ['and not after other statuses', `${UNIT}http-response.spec.ts`, '%i fails at once'],
    ['waits as Retry-After says, for 300 s at most', `${UNIT}patience-wish.spec.ts`, '$value is $ms ms'],
    [
      'takes 429 and 503 for such a wish without a time, too',
      `${UNIT}patience-wish.spec.ts`,
      'is a wish for patience of its host all the same',
    ],
    ['reads the headers of rate limits', `${UNIT}patience-wish.spec.ts`, 'say with 429 and 503 for how long: $name: $value'],
    ['waits after 403 when the limit is used up', `${UNIT}patience-wish.spec.ts`, 'make a wait of a 403 whose limit is used up: %j'],
    ['waits after 202 for that file alone', `${UNIT}patience-wish.spec.ts`, 'counts with 202 for its file alone'],
    [
      'says when it waits for a source that sends nothing',
      `${INTEGRATION}silent-sources.spec.ts`,
      'that takes the request and does not answer is silent',
    ],
    ['and not when S3 is slow', `${INTEGRATION}silent-sources.spec.ts`, 'whose reading stops because S3 is slow is not silent'],
    [
      'is ended when it is slower than the least speed',
      `${UNIT}source-body.spec.ts`,
      'ends a source that is slower than the least speed, and lets go of it',
    ],
    ['over all its resumes', `${UNIT}resumable-body.spec.ts`, 'is held to one least speed over all its resumes'],
    ['whatever its length', `${UNIT}least-speed.spec.ts`, 'is judged after a minute of reading: $what'],
    ['pauses its host for everyone', PAUSES, 'gets no task of any job until its time is over, while other hosts go on'],
    ['shares the connections of its host over all threads', E2E, 'come from a host over as many connections at once as it may have'],
    ['destroys a body that nobody reads', `${INTEGRATION}endless-answers.spec.ts`, 'but redirects is not read'],
    [
      'is asked for again at once when a kept connection is dead',
      `${INTEGRATION}transfer.spec.ts`,
      'asks again at once when a kept connection turns out to be dead',
    ],
  ],
  'a source in S3': [
    ['lies in an allowed bucket', `${UNIT}source-guard.spec.ts`, 'is any key of an allowed bucket, taken as it stands'],
    ['never under _export/', `${UNIT}source-guard.spec.ts`, 's3://shared/_export/job/manifest.json'],
    ['is copied by S3 where S3 can tell all', `${INTEGRATION}server-copy.spec.ts`, 'is copied there, as a download would have stored it'],
    ['is read where it cannot', `${INTEGRATION}server-copy.spec.ts`, 'is read where a %s is given that S3 does not know'],
    ['is asked again when S3 slows down', `${INTEGRATION}held-up-sources.spec.ts`, 'as S3 wants to be asked less is asked again'],
    ['is read on after a cut', `${INTEGRATION}held-up-sources.spec.ts`, 'and cut again and again is read on until it is whole'],
  ],
  'the guard of sources': [
    ['judges literal addresses in every form', `${UNIT}source-guard.spec.ts`, 'http://0177.0.0.1/'],
    ['judges what a name resolves to', `${UNIT}source-guard.spec.ts`, 'answers with nothing for a name that leads to this machine'],
    [
      'once for each connection: nothing is looked up again in between',
      `${INTEGRATION}guarded-agent.spec.ts`,
      'go to the address that was judged',
    ],
    ['anew for each connection', `${INTEGRATION}guarded-agent.spec.ts`, 'are judged again when the name has changed its mind'],
    [
      'judges the socket',
      `${INTEGRATION}guarded-agent.spec.ts`,
      'are ended before a byte is sent when the socket turns out to be elsewhere',
    ],
    ['judges every hop', `${INTEGRATION}transfer.spec.ts`, 'refuses a redirect to %s'],
    ['judges manifests', `${INTEGRATION}source-reader.spec.ts`, 'refuses $url'],
    ['knows its exceptions', `${UNIT}source-guard.spec.ts`, 'let a listed range be connected to, and nothing beside it'],
    ['lets no other scheme and no credentials pass', `${UNIT}source-guard.spec.ts`, 'https://user:password@example.com/'],
    ['keeps to the ports it is told', `${UNIT}source-guard.spec.ts`, 'is any port, or one of the listed'],
    [
      'does not tell what an address answered',
      `${INTEGRATION}transfer.spec.ts`,
      'says of which host nobody listens, and not to which address it led',
    ],
  ],
  'a checksum': [
    [
      'is of seven algorithms, in any form',
      `${INTEGRATION}checksums.spec.ts`,
      'of $algorithm is checked, given in $form, and another is refused',
    ],
    ['that fits no form is an invalid manifest', TASK, 'refuses a checksum that fits no form'],
    ['is no ETag of a multipart upload', 'unit/shared/checksum.spec.ts', 'knows the ETag of a multipart upload'],
    ['sha256 is always computed', `${UNIT}digests.spec.ts`, 'reports sha256 when nothing was promised'],
    ['that is another has one more try', DISPATCHER, 'CHECKSUM_MISMATCH twice is an answer'],
  ],
  'an upload': [
    ['of up to a part is one request', `${INTEGRATION}transfer.spec.ts`, 'of %i bytes stores it in one request'],
    [
      'of more goes in parts, at every boundary',
      `${INTEGRATION}upload-sizes.spec.ts`,
      'of $what is stored as it is, of known and of unknown length',
    ],
    ['has parts that grow with an unknown length', `${UNIT}part-plan.spec.ts`, 'grow with a body of unknown length'],
    ['never sends a part 10,001', `${UNIT}uploader.spec.ts`, 'never sends a part 10,001'],
    ['has so many parts in flight', `${UNIT}uploader.spec.ts`, 'sends so many parts at a time and no more, and completes them in order'],
    ['tells S3 the CRC-32 of the whole', `${INTEGRATION}checksums.spec.ts`, 'over the whole object, small or large'],
    ['or nothing, to a store that may reject it', `${INTEGRATION}transfer.spec.ts`, 'adds no checksum where the store may reject it'],
    ['is verified before anything becomes visible', `${UNIT}uploader.spec.ts`, 'verifies before anything becomes visible'],
    [
      'is aborted with a signal of its own',
      `${INTEGRATION}upload-faults.spec.ts`,
      'aborts the upload of a task that is aborted while parts are in flight',
    ],
    ['though S3 does not listen at first', `${INTEGRATION}upload-faults.spec.ts`, 'aborts the upload though S3 does not listen at first'],
    [
      'leaves nothing behind when the service ends',
      `${INTEGRATION}upload-faults.spec.ts`,
      'leaves nothing behind when the service ends during $operation',
    ],
    [
      'keeps what the source said of itself',
      `${INTEGRATION}upload-sizes.spec.ts`,
      'keeps on a multipart object what the source said of it',
    ],
    ['in 2 KB of ASCII', `${UNIT}object-metadata.spec.ts`, 'stays within 2 KB of ASCII, whatever the task brings'],
    ['without its query', `${UNIT}object-metadata.spec.ts`, 'holds the source without its credentials, query and fragment'],
    ['gets over lost answers', `${INTEGRATION}upload-faults.spec.ts`, 'gets over a lost answer to %s'],
    [
      'that Complete does not find is looked for',
      `${INTEGRATION}upload-faults.spec.ts`,
      'tells by the object whether a Complete that finds no upload has been done',
    ],
    [
      'takes a 200 with an error for the error',
      `${INTEGRATION}upload-faults.spec.ts`,
      'takes a 200 with an error in it for the error it is',
    ],
    ['waits when S3 slows down', `${INTEGRATION}upload-faults.spec.ts`, 'waits where S3 wants to be asked less, at $operation'],
    [
      'that a bucket refuses says what is missing',
      `${UNIT}destination-refusal.spec.ts`,
      'with $code is told with what is missing: $missing',
    ],
    [
      'that is refused behind a 200 is not tried again',
      `${INTEGRATION}upload-faults.spec.ts`,
      'that refuses at Complete, behind a 200, is not asked again',
    ],
    [
      'whose bytes became others is sent once more, then is a mismatch',
      `${INTEGRATION}upload-faults.spec.ts`,
      'that got other bytes at $operation gets the same ones again',
    ],
    [
      'whose condition meets no answer is looked for',
      `${INTEGRATION}done-before.spec.ts`,
      'is found with one download though the store closes',
    ],
    ['goes to allowed buckets only', `${INTEGRATION}transfer.spec.ts`, 'refuses a destination that is not allowed'],
    [
      'of what is there already is not made',
      E2E,
      'that lie there already are left alone by a job that does it all again, and count as completed',
    ],
    ['unless it is another', `${INTEGRATION}done-before.spec.ts`, 'is written over, whether it was looked at before or not'],
    ['asks first only where a key was found taken', `${INTEGRATION}done-before.spec.ts`, 'is found by the refused PutObject once'],
    [
      'or where size and checksum are given, instead of the source',
      `${INTEGRATION}done-before.spec.ts`,
      'is left alone without a word to its source',
    ],
  ],
  'a key': [
    ['is given, or the decoded name in the URL', TASK, 'takes the key of %s from its decoded path'],
    ['has any character, up to 1,024 bytes', E2E, 'whatever characters they have, up to 1,024 bytes'],
    ['has no segment that leads elsewhere', TASK, 'refuses %j, because it %s'],
    ['is of one task', MANIFEST, 'are found in every format, with both places'],
  ],
  'a manifest': [
    ['is JSONL, JSON, CSV, TSV or a list', MANIFEST, 'reads ${name}, named or sniffed'],
    ['with BOM, CRLF and gzip', MANIFEST, 'with a byte order mark, CRLF and gzip, and in chunks of any size'],
    ['of several gzip members', MANIFEST, 'reads gzip of several members'],
    ['is streamed', MANIFEST, 'never reads far ahead of its consumer'],
    ['has errors with line and reason', MANIFEST, 'names the line, the reason and the mend'],
    ['the first 20', MANIFEST, 'keeps the first 20 problems, counts them all'],
    ['before any download', 'e2e/intake.spec.ts', 'fails a job whose manifest is broken with line and reason, before any download'],
    ['refuses a hex MD5 in TSV with a hint', MANIFEST, 'the MD5 is hex: TsvHttpData-1.0 takes the base64'],
    ['whose end nothing shows is none', `${INTEGRATION}source-reader.spec.ts`, 'refuses a manifest whose end nothing shows'],
  ],
};

describe.each(Object.entries(RULES))('%s', (_subject, rules) => {
  it.each(rules)('%s', (_rule, spec, test) => {
    const isSaid = readFileSync(join(ROOT, spec), 'utf8').includes(test);
    expect({ spec, test, isSaid }).toEqual({ spec, test, isSaid: true });
  });
});
