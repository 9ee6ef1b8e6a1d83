import { canonicalJson, sha256Hex } from '../../shared/index.js';
import type { ExportRequest, RequestSource } from '../domain/export-request.js';
import type { ManifestTask } from '../domain/manifest-task.js';
import { defaultPrefix } from '../domain/object-key.js';
import type { ExportJobMessage } from './export-job-message.schema.js';

export interface RequestDefaults {
  bucket: string;
  destinationBuckets: readonly string[];
  manifestUriTemplate?: string;
}

/** Fills in what this service decides, and refuses what it does not allow. */
export async function resolveExportRequest(
  message: ExportJobMessage,
  files: readonly ManifestTask[] | undefined,
  defaults: RequestDefaults,
): Promise<{ kind: 'ok'; request: ExportRequest } | { kind: 'unusable'; reasons: string[] }> {
  const { jobId, exportId, userId, taskToken, options = {}, metadata } = message;
  const bucket = message.destination?.bucket ?? defaults.bucket;
  const source = sourceOf(message, files, defaults.manifestUriTemplate);
  const reasons: string[] = [];
  if (!defaults.destinationBuckets.includes(bucket))
    reasons.push('destination.bucket is not one of ALLOWED_DESTINATION_BUCKETS of this service: name one of them, or add it there');
  if (source === undefined)
    reasons.push('source names no list and this service has no EXPORT_MANIFEST_URI_TEMPLATE: send source.files or source.manifest');
  if (source === undefined || reasons.length > 0) return { kind: 'unusable', reasons };
  const { taskToken: _token, ...asSent } = message;
  const requestJson = canonicalJson(asSent);
  const request: ExportRequest = {
    jobId,
    exportId,
    userId,
    ...(taskToken === undefined ? {} : { taskToken }),
    source,
    destination: { bucket, prefix: message.destination?.prefix ?? defaultPrefix(jobId) },
    tolerance: { count: options.toleratedFailureCount, percentage: options.toleratedFailurePercentage },
    ...(options.failFast === undefined ? {} : { failFast: options.failFast }),
    ...(options.headers === undefined ? {} : { headers: options.headers }),
    ...(options.expectContentType === undefined ? {} : { expectContentType: options.expectContentType }),
    ...(options.maxConcurrency === undefined ? {} : { maxConcurrency: options.maxConcurrency }),
    ...(metadata === undefined ? {} : { metadata }),
    requestJson,
    requestHash: await sha256Hex(requestJson),
  };
  return { kind: 'ok', request };
}

function sourceOf(
  message: ExportJobMessage,
  files: readonly ManifestTask[] | undefined,
  template: string | undefined,
): RequestSource | undefined {
  if (files !== undefined) return { kind: 'files', files };
  const { manifest, files: _files, ...reading } = message.source ?? {};
  if (manifest !== undefined) return { kind: 'manifest', uri: manifest, trusted: false, reading };
  if (template === undefined) return undefined;
  const { exportId, jobId, userId } = message;
  const values: Record<string, string> = { exportId, jobId, userId };
  const uri = template.replaceAll(/\{(exportId|jobId|userId)\}/g, (_match, name: string) => encodeURIComponent(values[name] ?? ''));
  return { kind: 'manifest', uri, trusted: true, reading };
}
