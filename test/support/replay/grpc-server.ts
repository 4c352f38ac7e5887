import {
  Server,
  ServerCredentials,
  type ServerDuplexStream,
  type ServerUnaryCall,
  type ServerWritableStream,
  type sendUnaryData,
  status,
  type UntypedHandleCall,
} from '@grpc/grpc-js'
import type { GrpcServices } from '../../../core/rpc/grpc.ts'
import type { FaultPlan, ReplayFault } from './faults.ts'

/** An answer as bytes instead of a message. */
type Bytes = Buffer

/** A real gRPC server that serves recordings. */
export interface GrpcServer {
  readonly url: string
  /** Every connection falls; new ones are taken. */
  dropConnections(): void
  stop(): Promise<void>
}

/** A node's answer to one call; throws a `InsertErrorClass` to refuse it. */
export type UnaryHandler = (request: Readonly<Record<string, unknown>>) => object

/** A refusal by the status of its name. */
export class GrpcError extends Error {
  readonly code: number

  constructor(name: keyof typeof status, message: string) {
    super(message)
    this.code = Number(status[name])
  }
}

/** A stream as its server holds it. */
export type OpenStream =
  | ServerWritableStream<Readonly<Record<string, unknown>>, object>
  | ServerDuplexStream<Readonly<Record<string, unknown>>, object>

/** What a server serves, by the full name of the method. */
export interface GrpcHandlers {
  readonly unary: Readonly<Record<string, UnaryHandler>>
  readonly streams: Readonly<Record<string, (stream: OpenStream) => void>>
}

/** What a fault makes of an answer that is not the node's own: the wrong one, or one of another chain. */
export type ApplyFault = (fault: ReplayFault, method: string, answer: object) => object

/** What a server is started with. */
export interface GrpcServerOptions {
  readonly services: GrpcServices
  readonly handlers: GrpcHandlers
  readonly faults: FaultPlan
  readonly bend: ApplyFault
}

/** Starts a server on a free port. */
export const startGrpcServer = async (options: GrpcServerOptions): Promise<GrpcServer> => {
  const { services, handlers, faults, bend } = options
  const server = new Server({ 'grpc.max_receive_message_length': -1 })
  for (const [service, methods] of Object.entries(services)) {
    const implementation: Record<string, UntypedHandleCall> = {}
    const definition: Record<string, object> = {}
    for (const [name, method] of Object.entries(methods)) {
      const path = `${service}/${name}`
      const own = method.responseSerialize
      definition[name] = {
        ...method,
        responseSerialize: (value: object | Bytes) => bytesOf(value, own),
      }
      const stream = handlers.streams[path]
      const answer = handlers.unary[path]
      if (stream !== undefined) implementation[name] = stream as UntypedHandleCall
      else if (answer !== undefined) {
        implementation[name] = createUnaryHandler({
          path,
          own,
          answer,
          faults,
          bend,
          drop: () => drop(),
        })
      }
    }
    server.addService(definition as never, implementation)
  }
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) =>
      error === null ? resolve(bound) : reject(error),
    )
  })
  const drop = (): void => server.drain(`127.0.0.1:${port}`, 0)
  return {
    url: `http://127.0.0.1:${port}`,
    dropConnections: drop,
    stop: async () => server.forceShutdown(),
  }
}

const bytesOf = (value: object | Bytes, serialize: (value: object) => Buffer): Buffer =>
  Buffer.isBuffer(value) ? value : serialize(value)

/** The first half of a message. */
export const firstHalf = (bytes: Buffer): Buffer => bytes.subarray(0, Math.ceil(bytes.length / 2))

interface UnaryCallContext extends Pick<GrpcServerOptions, 'faults' | 'bend'> {
  readonly path: string
  readonly own: (value: object) => Buffer
  readonly answer: UnaryHandler
  readonly drop: () => void
}

const createUnaryHandler =
  ({ path, own, answer, faults, bend, drop }: UnaryCallContext) =>
  (
    call: ServerUnaryCall<Readonly<Record<string, unknown>>, object>,
    reply: sendUnaryData<object>,
  ): void => {
    const fault = faults(path)
    if (fault === 'disconnect') drop()
    // The caller gives up; nothing that is sent afterwards is heard.
    if (fault === 'disconnect' || fault === 'late') return
    if (fault === 'rate-limited') {
      reply({ code: status.RESOURCE_EXHAUSTED, details: 'too many calls' })
      return
    }
    try {
      const said = answer(call.request)
      if (fault === 'truncated') reply(null, firstHalf(own(said)))
      else reply(null, fault === undefined ? said : bend(fault, path, said))
    } catch (error) {
      if (!(error instanceof GrpcError)) throw error
      reply({ code: error.code, details: error.message })
    }
  }
