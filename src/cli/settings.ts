import type { RequiredSetting } from '../config/index.js';

/** What commands need of the settings that the service cannot do without: where they look. */
export const JOBS = ['AWS_REGION', 'DYNAMODB_JOBS_TABLE'] as const satisfies readonly RequiredSetting[];
export const BATCHES = ['AWS_REGION', 'DYNAMODB_BATCHES_TABLE'] as const satisfies readonly RequiredSetting[];
export const RECLAIMS = ['AWS_REGION', 'DYNAMODB_RECLAIMS_TABLE'] as const satisfies readonly RequiredSetting[];
export const FLEET = ['AWS_REGION', 'DYNAMODB_COORDINATORS_TABLE'] as const satisfies readonly RequiredSetting[];
