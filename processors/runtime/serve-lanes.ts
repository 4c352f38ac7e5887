import type { MessagePort } from 'node:worker_threads'
import type { Codec } from '../../core/codec/contract.ts'
import { type Deferred, makeDeferred } from '../../core/runtime/deferred.ts'
import { toThreadError } from '../../core/runtime/thread-error.ts'
import {
  END_THREAD,
  type LaneReply,
  type LaneRequest,
  type PackedRecords,
  packCommit,
  unpackRecords,
} from './lane-messages.ts'
import type { Stage } from './stage.ts'
import { type LaneReports, StageLane, type StageLaneLog } from './stage-lane.ts'
import { makeStateReaders, type StateReaders } from './state-readers.ts'

/** What the thread folds with. */
export interface LaneServerDeps {
  readonly port: MessagePort
  /** Stages by name. */
  readonly stages: ReadonlyMap<string, Stage>
  readonly openCodec: () => Promise<Codec>
}

type StartRequest = Extract<LaneRequest, { kind: 'start' }>

interface HeldLane {
  readonly controller: AbortController
  /** What the lane waits for, if anything. */
  taking?: Deferred<PackedRecords>
  committing?: Deferred<void>
}

/** Folds lanes for another thread: it asks that one for records and gives it what is to be committed. */
export const serveLanes = (deps: LaneServerDeps): void => {
  const readers = makeStateReaders()
  const lanes = new Map<number, HeldLane>()
  deps.port.on('message', (request: LaneRequest | typeof END_THREAD) => {
    if (request === END_THREAD) {
      deps.port.close()
      return
    }
    if (request.kind === 'start') {
      const held: HeldLane = { controller: new AbortController() }
      lanes.set(request.lane, held)
      runHeldLane(deps, readers, held, request).then((reply) => {
        lanes.delete(request.lane)
        deps.port.postMessage(reply)
      })
      return
    }
    const held = lanes.get(request.lane)
    if (held === undefined) return
    if (request.kind === 'records') held.taking?.resolve(request.records)
    else if (request.kind === 'committed') held.committing?.resolve()
    else stopLane(held)
  })
}

const stopLane = ({ controller, taking, committing }: HeldLane): void => {
  const reason = new Error('the lane was taken away')
  controller.abort(reason)
  taking?.reject(reason)
  committing?.reject(reason)
}

/** The lane from its start to its last word. Never throws. */
const runHeldLane = async (
  { port, stages, openCodec }: LaneServerDeps,
  readers: StateReaders,
  held: HeldLane,
  { lane, order, partition, location }: StartRequest,
): Promise<LaneReply> => {
  const ended = (error?: unknown): LaneReply => ({
    lane,
    kind: 'ended',
    ...(error !== undefined && { error: toThreadError(error) }),
  })
  try {
    const { app, chain, book } = order
    const stage = stages.get(app)
    if (stage === undefined) return ended(new Error(`this thread has no stage ${app}`))
    const codec = await openCodec()
    const shared = readers.open(location)
    try {
      const log = laneLog(port, held, { lane, partition, shared })
      const folds = { chain, codec, ...(book && { book }) }
      await new StageLane(stage, folds, log, reportsTo(port, lane)).run()
    } finally {
      await shared.close()
    }
    return ended()
  } catch (error) {
    // The lane was taken away while it waited: that is how it ends.
    return held.controller.signal.aborted ? ended() : ended(error)
  }
}

const laneLog = (
  port: MessagePort,
  held: HeldLane,
  {
    lane,
    partition,
    shared,
  }: {
    readonly lane: number
    readonly partition: number
    readonly shared: ReturnType<StateReaders['open']>
  },
): StageLaneLog => {
  const { signal } = held.controller
  const send = (reply: LaneReply, moved: readonly ArrayBuffer[] = []): void =>
    port.postMessage(reply, [...moved])
  return {
    partition,
    signal,
    state: async () => shared.state,
    take: async (options) => {
      signal.throwIfAborted()
      held.taking = makeDeferred()
      send({ lane, kind: 'take', options })
      return unpackRecords(await held.taking.promise)
    },
    commit: async (commit) => {
      signal.throwIfAborted()
      const { packed, moved } = packCommit(commit)
      held.committing = makeDeferred()
      send({ lane, kind: 'commit', commit: packed }, moved)
      await held.committing.promise
      shared.refresh()
    },
  }
}

const reportsTo = (port: MessagePort, lane: number): LaneReports => {
  const send = (reply: LaneReply): void => port.postMessage(reply)
  return {
    status: (status) => send({ lane, kind: 'status', status }),
    committed: (records) => send({ lane, kind: 'counted', records }),
    undecodable: ({ topic, offset }, error) =>
      send({ lane, kind: 'undecodable', topic, offset, error: toThreadError(error) }),
  }
}
