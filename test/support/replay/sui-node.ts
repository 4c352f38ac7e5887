import { loadGrpcServices } from '../../../core/rpc/grpc.ts'
import { METHOD } from '../../../ingestors/move/source/node-queries.ts'
import type { FaultPlan } from './faults.ts'
import { firstHalf, GrpcError, type OpenStream, startGrpcServer } from './grpc-server.ts'
import { applyFieldMask, type ProtobufObject, type SuiCheckpoint, suiChainId } from './sui-chain.ts'

/** What a Sui node serves. */
export interface SuiNodeOptions {
  readonly checkpoints: readonly SuiCheckpoint[]
  readonly faults?: FaultPlan
  /** Digest of the first checkpoint. Default: that of the recorded chain. */
  readonly chainId?: string
  /** `GetCoinInfoResponse` by coin type. */
  readonly coins?: ReadonlyMap<string, ProtobufObject>
  /** `Object` by id. */
  readonly objects?: ReadonlyMap<string, ProtobufObject>
}

/** A Sui node over gRPC. It lacks what lies below its first checkpoint. */
export interface SuiNode {
  readonly url: string
  /** Calls as they came, by method. */
  readonly asked: { readonly method: string; readonly request: ProtobufObject }[]
  /** Height that it calls the newest; undefined: the newest it has. */
  toldHeight: number | undefined
  /** Adds checkpoints above the newest and tells subscribers. */
  announce(...checkpoints: readonly SuiCheckpoint[]): void
  stop(): Promise<void>
}

/** Starts a node. A fault of the plan is made once per time that the plan names it. */
export const startSuiNode = async (options: SuiNodeOptions): Promise<SuiNode> => {
  const { faults = () => undefined, chainId = suiChainId(), coins, objects } = options
  const held = new Map(options.checkpoints.map((each) => [each.height, each]))
  const subscribers = new Set<{ readonly stream: OpenStream; readonly paths: readonly string[] }>()
  const asked: SuiNode['asked'] = []
  const services = loadGrpcServices('sui.proto')
  const newest = (): number => Math.max(...held.keys())
  const served =
    (method: string, answer: (request: ProtobufObject) => object) => (request: ProtobufObject) => {
      asked.push({ method, request })
      return answer(request)
    }
  const of = (
    table: ReadonlyMap<string, ProtobufObject> | undefined,
    key: unknown,
  ): ProtobufObject => {
    const found = table?.get(String(key))
    if (found === undefined) throw new GrpcError('NOT_FOUND', `no ${key}`)
    return found
  }
  const unary = {
    [METHOD.info]: () => ({
      chainId,
      checkpointHeight: node.toldHeight ?? newest(),
      lowestAvailableCheckpoint: Math.min(...held.keys()),
    }),
    [METHOD.checkpoint]: (request: ProtobufObject) => {
      const checkpoint = held.get(Number(request.sequenceNumber))
      if (checkpoint === undefined) throw new GrpcError('NOT_FOUND', 'no such checkpoint')
      return { checkpoint: applyFieldMask(checkpoint.wire, maskPaths(request)) }
    },
    [METHOD.coin]: ({ coinType }: ProtobufObject) => of(coins, coinType),
    [METHOD.object]: (request: ProtobufObject) => ({
      object: applyFieldMask(of(objects, request.objectId), maskPaths(request)),
    }),
  }
  const server = await startGrpcServer({
    services,
    faults,
    handlers: {
      unary: Object.fromEntries(
        Object.entries(unary).map(([method, answer]) => [method, served(method, answer)]),
      ),
      streams: {
        [METHOD.subscribe]: (stream) => {
          const { request } = stream as unknown as { readonly request: ProtobufObject }
          asked.push({ method: METHOD.subscribe, request })
          const subscriber = { stream, paths: maskPaths(request) }
          subscribers.add(subscriber)
          for (const event of ['cancelled', 'close'] as const) {
            stream.on(event, () => subscribers.delete(subscriber))
          }
        },
      },
    },
    bend: (fault, method, answer) => {
      if (fault === 'wrong-chain' && method === METHOD.info) {
        return { ...answer, chainId: suiChainId('another') }
      }
      if (method !== METHOD.checkpoint) return {}
      const { sequenceNumber } = (answer as { checkpoint: ProtobufObject }).checkpoint
      const other = held.get(Number(sequenceNumber) - 1) ?? held.get(Number(sequenceNumber) + 1)
      return { checkpoint: other?.wire }
    },
  })
  const notice = ({ height, wire }: SuiCheckpoint, paths: readonly string[]): object => ({
    cursor: height,
    checkpoint: applyFieldMask(wire, paths),
  })
  const serialize =
    services['sui.rpc.v2.SubscriptionService']?.SubscribeCheckpoints?.responseSerialize
  /** The notices of one announcement, as a fault leaves them. */
  const tell = (checkpoints: readonly SuiCheckpoint[]): void => {
    const fault = faults(METHOD.subscribe)
    if (fault === 'disconnect') server.dropConnections()
    const order = fault === 'out-of-order' ? checkpoints.toReversed() : checkpoints
    for (const { stream, paths } of subscribers) {
      if (fault === 'rate-limited') {
        stream.emit('error', { code: 8, details: 'too many streams' })
        continue
      }
      for (const checkpoint of fault === 'late' || fault === 'disconnect' ? [] : order) {
        const said = notice(checkpoint, paths)
        if (fault === 'truncated') stream.write(firstHalf(serialize?.(said) ?? Buffer.alloc(0)))
        else if (fault === 'wrong') stream.write({ cursor: checkpoint.height, checkpoint: {} })
        else stream.write(said)
      }
    }
  }
  const node: SuiNode = {
    url: server.url,
    toldHeight: undefined,
    asked,
    announce: (...checkpoints) => {
      for (const each of checkpoints) held.set(each.height, each)
      tell(checkpoints)
    },
    stop: server.stop,
  }
  return node
}

const maskPaths = ({ readMask }: ProtobufObject): readonly string[] =>
  (readMask as { readonly paths: readonly string[] } | undefined)?.paths ?? []
