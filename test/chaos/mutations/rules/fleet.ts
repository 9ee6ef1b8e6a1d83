import type { Mutation } from '../mutation.js';
import { alwaysTrue } from './condition.js';

const REGISTRY = 'src/fleet/adapters/dynamo-db-coordinator-registry.adapter.ts';
const LIVENESS = 'src/fleet/domain/liveness.ts';
const HEARTBEAT_CONDITION = '[MY_REGISTRATION, MY_EPOCH, NEWER_THAN_WRITTEN]';
const KEY = 'coordinatorId';
const ON_ROWS = ['conformance/coordinator-registry.spec.ts'];
const ON_LIVENESS = ['unit/fleet/domain/liveness.spec.ts'];
const MY_OWN_CLOCK = 'Live within three intervals on my own clock';

export const FLEET_MUTATIONS: readonly Mutation[] = [
  {
    rule: 'Coordinator heartbeat IF epoch = mine',
    fault: 'a process that was taken for dead brings its former life back',
    file: REGISTRY,
    find: HEARTBEAT_CONDITION,
    replace: `[MY_REGISTRATION, ${alwaysTrue('MY_EPOCH', KEY)}, NEWER_THAN_WRITTEN]`,
    specs: ON_ROWS,
  },
  {
    rule: 'Coordinator heartbeat IF epoch = mine',
    fault: 'another process of the same id and epoch beats for it',
    file: REGISTRY,
    find: HEARTBEAT_CONDITION,
    replace: `[${alwaysTrue('MY_REGISTRATION', KEY)}, MY_EPOCH, NEWER_THAN_WRITTEN]`,
    specs: ON_ROWS,
  },
  {
    rule: 'Coordinator heartbeat IF sequence < mine',
    fault: 'a delayed first try undoes a newer heartbeat',
    file: REGISTRY,
    find: HEARTBEAT_CONDITION,
    replace: `[MY_REGISTRATION, MY_EPOCH, ${alwaysTrue('NEWER_THAN_WRITTEN', KEY)}]`,
    specs: ON_ROWS,
  },
  {
    rule: MY_OWN_CLOCK,
    fault: 'a dead one keeps its jobs an interval longer',
    file: LIVENESS,
    find: 'const LIVE_INTERVALS = 3;',
    replace: 'const LIVE_INTERVALS = 4;',
    specs: ON_LIVENESS,
  },
  {
    rule: MY_OWN_CLOCK,
    fault: 'stored time tells who lives: a clock that is off keeps one dead',
    file: LIVENESS,
    find: 'aliveAt: hasMoved ? movedSince(look, intervalMs) : before.aliveAt,',
    replace: 'aliveAt: look.at - (look.nowMs - Date.parse(row.heartbeatAt)),',
    specs: ON_LIVENESS,
  },
  {
    rule: MY_OWN_CLOCK,
    fault: 'a heartbeat counts from the look that found it: a death shows a look late',
    file: LIVENESS,
    find: 'Math.max(formerAt, at - MOVED_WITHIN_INTERVALS * intervalMs)',
    replace: 'at',
    specs: ON_LIVENESS,
  },
  {
    rule: 'LEAVING is not live',
    fault: 'who drains keeps its share of the jobs until it is silent',
    file: LIVENESS,
    find: 'return !leaving && !starting && aliveAt',
    replace: 'return aliveAt',
    specs: [...ON_LIVENESS, 'unit/fleet/application/fleet-memory.spec.ts'],
  },
  {
    rule: 'is one warning on another one',
    fault: 'every look warns of every silent row',
    file: 'src/fleet/application/fleet-watch.ts',
    find: 'this.alive.has(coordinator)',
    replace: "coordinator !== ''",
    specs: ['unit/fleet/application/fleet-watch.spec.ts'],
  },
];
