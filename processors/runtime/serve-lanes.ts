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

interface LaneState {
  readonly controller: AbortController
  /** What the lane waits for, if anything. */
  taking?: Deferred<PackedRecords>
  committing?: Deferred<void>
}

/** Folds lanes for another thread: it asks that one for records and gives it what is to be committed. */
export const serveLanes = (deps: LaneServerDeps): void => {
  const readers = makeStateReaders()
  const lanes = new Map<number, LaneState>()
  deps.port.on('message', (request: LaneRequest | typeof END_THREAD) => {
    if (request === END_THREAD) {
      deps.port.close()
      return
    }
    if (request.kind === 'start') {
      const state: LaneState = { controller: new AbortController() }
      lanes.set(request.lane, state)
      runLane(deps, readers, state, request).then((reply) => {
        lanes.delete(request.lane)
        deps.port.postMessage(reply)
      })
      return
    }
    const state = lanes.get(request.lane)
    if (state === undefined) return
    if (request.kind === 'records') state.taking?.resolve(request.records)
    else if (request.kind === 'committed') state.committing?.resolve()
    else stopLane(state)
  })
}

const stopLane = ({ controller, taking, committing }: LaneState): void => {
  const reason = new Error('the lane was taken away')
  controller.abort(reason)
  taking?.reject(reason)
  committing?.reject(reason)
}

/** The lane from its start to its last word. Never throws. */
const runLane = async (
  { port, stages, openCodec }: LaneServerDeps,
  readers: StateReaders,
  state: LaneState,
  { lane, order, partition, location }: StartRequest,
): Promise<LaneReply> => {
  const ended = (error?: unknown): LaneReply => ({
    lane,
    kind: 'ended',
    ...(error !== undefined && { error: toThreadError(error) }),
  })
  try {
    const { app, chain, quoteAssets } = order
    const stage = stages.get(app)
    if (stage === undefined) return ended(new Error(`this thread has no stage ${app}`))
    const codec = await openCodec()
    const shared = readers.open(location)
    try {
      const log = laneLog(port, state, { lane, partition, shared })
      const folds = { chain, codec, ...(quoteAssets && { quoteAssets }) }
      await new StageLane(stage, folds, log, reportsTo(port, lane)).run()
    } finally {
      await shared.close()
    }
    return ended()
  } catch (error) {
    // The lane was taken away while it waited: that is how it ends.
    return state.controller.signal.aborted ? ended() : ended(error)
  }
}

const laneLog = (
  port: MessagePort,
  state: LaneState,
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
  const { signal } = state.controller
  const send = (reply: LaneReply, moved: readonly ArrayBuffer[] = []): void =>
    port.postMessage(reply, [...moved])
  return {
    partition,
    signal,
    state: async () => shared.state,
    take: async (options) => {
      signal.throwIfAborted()
      state.taking = makeDeferred()
      send({ lane, kind: 'take', options })
      return unpackRecords(await state.taking.promise)
    },
    commit: async (commit) => {
      signal.throwIfAborted()
      const { packed, moved } = packCommit(commit)
      state.committing = makeDeferred()
      send({ lane, kind: 'commit', commit: packed }, moved)
      await state.committing.promise
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
