import type { Mutation } from './mutation.js';
import { BATCH_MUTATIONS } from './rules/batch.js';
import { CLOCK_MUTATIONS } from './rules/clock.js';
import { COMMAND_MUTATIONS } from './rules/commands.js';
import { COUNTING_MUTATIONS } from './rules/counting.js';
import { DEPENDENCY_MUTATIONS } from './rules/dependencies.js';
import { FINISHING_MUTATIONS } from './rules/finishing.js';
import { FLEET_MUTATIONS } from './rules/fleet.js';
import { IN_HAND_MUTATIONS } from './rules/in-hand.js';
import { INTAKE_MUTATIONS } from './rules/intake.js';
import { LOG_LINE_MUTATIONS } from './rules/log-lines.js';
import { RECLAIM_MUTATIONS } from './rules/reclaim.js';
import { REOPENING_MUTATIONS } from './rules/reopening.js';
import { REPAIR_MUTATIONS } from './rules/repair.js';
import { SHUTDOWN_MUTATIONS } from './rules/shutdown.js';
import { TOKEN_MUTATIONS } from './rules/tokens.js';
import { TRANSFER_MUTATIONS } from './rules/transfer.js';
import { WINDOW_MUTATIONS } from './rules/window.js';

export const MUTATIONS: readonly Mutation[] = [
  ...COUNTING_MUTATIONS,
  ...BATCH_MUTATIONS,
  ...RECLAIM_MUTATIONS,
  ...TOKEN_MUTATIONS,
  ...FINISHING_MUTATIONS,
  ...INTAKE_MUTATIONS,
  ...REOPENING_MUTATIONS,
  ...REPAIR_MUTATIONS,
  ...FLEET_MUTATIONS,
  ...TRANSFER_MUTATIONS,
  ...IN_HAND_MUTATIONS,
  ...CLOCK_MUTATIONS,
  ...WINDOW_MUTATIONS,
  ...LOG_LINE_MUTATIONS,
  ...SHUTDOWN_MUTATIONS,
  ...DEPENDENCY_MUTATIONS,
  ...COMMAND_MUTATIONS,
];
