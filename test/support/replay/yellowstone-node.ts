import type { ServerDuplexStream } from '@grpc/grpc-js'
import { loadGrpcServices } from '../../../core/rpc/grpc.ts'
import type { RpcBlock } from '../nodes/solana.ts'
import type { FaultPlan, ReplayFault } from './faults.ts'
import { firstHalf, startGrpcServer } from './grpc-server.ts'
import type { ProtobufObject } from './sui-chain.ts'
import { toYellowstoneBlock } from './yellowstone-wire.ts'

/** What a plugin serves. */
export interface YellowstoneOptions {
  /** Blocks by slot: what a stream may begin with; those that are announced are read from here. */
  readonly blocks: ReadonlyMap<number, RpcBlock>
  /** Asked with `Subscribe` at each announcement and with `from_slot` at each stream that begins at a slot. */
  readonly faults?: FaultPlan
}

/** A Yellowstone plugin over gRPC. */
export interface YellowstoneNode {
  /** Without TLS. */
  readonly url: string
  /** Requests that opened a stream, with the token that came along. */
  readonly asked: { readonly request: ProtobufObject; readonly token: unknown }[]
  /** Answers to its pings. */
  pongs(): number
  streams(): number
  /** Tells every stream of these slots, each with its block. */
  announce(...slots: readonly number[]): void
  ping(): void
  stop(): Promise<void>
}

type Stream = ServerDuplexStream<ProtobufObject, object>

/** Starts a plugin. */
export const startYellowstoneNode = async ({
  blocks,
  faults = () => undefined,
}: YellowstoneOptions): Promise<YellowstoneNode> => {
  const services = loadGrpcServices('geyser.proto')
  const serialize = services['geyser.Geyser']?.Subscribe?.responseSerialize
  const streams = new Set<Stream>()
  const asked: YellowstoneNode['asked'] = []
  let pongs = 0
  const updateOf = (slot: number): { readonly block: ProtobufObject } => {
    const block = blocks.get(slot)
    if (block === undefined) throw new Error(`no block at ${slot}`)
    return { block: toYellowstoneBlock(slot, block) }
  }
  const begin = (stream: Stream, request: ProtobufObject): void => {
    asked.push({ request, token: stream.metadata.get('x-token')[0] })
    if (request.fromSlot === undefined) return
    if (faults('from_slot') !== undefined) {
      stream.emit('error', { code: 3, details: 'from_slot is no longer available' })
      return
    }
    const first = Number(request.fromSlot)
    for (const slot of [...blocks.keys()].filter((each) => each >= first).sort((a, b) => a - b)) {
      stream.write(updateOf(slot))
    }
  }
  const server = await startGrpcServer({
    services,
    faults,
    handlers: {
      unary: {},
      streams: {
        'geyser.Geyser/Subscribe': (opened) => {
          const stream = opened as Stream
          stream.on('data', (request: ProtobufObject) => {
            if (request.ping !== undefined && request.ping !== null) {
              pongs += 1
              stream.write({ pong: { id: 1 } })
              return
            }
            streams.add(stream)
            begin(stream, request)
          })
          for (const event of ['cancelled', 'close', 'end'] as const) {
            stream.on(event, () => streams.delete(stream))
          }
        },
      },
    },
    bend: (_fault, _method, answer) => answer,
  })
  const told = (stream: Stream, slot: number, fault: ReplayFault | undefined): void => {
    const { block } = updateOf(slot)
    stream.write({ slot: { slot, status: 'SLOT_CONFIRMED' } })
    if (fault === 'late') return
    if (fault === 'truncated') stream.write(firstHalf(serialize?.({ block }) ?? Buffer.alloc(0)))
    else if (fault === 'wrong') stream.write({ block: { ...block, executedTransactionCount: 1e6 } })
    else if (fault === 'wrong-chain') {
      stream.write({ block: { ...block, parentBlockhash: block.blockhash } })
    } else stream.write({ block })
  }
  return {
    url: server.url.replace('http', 'grpc'),
    asked,
    pongs: () => pongs,
    streams: () => streams.size,
    announce: (...slots) => {
      const fault = faults('Subscribe')
      if (fault === 'disconnect') {
        server.dropConnections()
        return
      }
      for (const stream of [...streams]) {
        if (fault === 'rate-limited') {
          stream.emit('error', { code: 8, details: 'too many streams' })
          continue
        }
        for (const slot of fault === 'out-of-order' ? slots.toReversed() : slots) {
          told(stream, slot, fault)
        }
      }
    },
    ping: () => {
      for (const stream of streams) stream.write({ ping: {} })
    },
    stop: server.stop,
  }
}
