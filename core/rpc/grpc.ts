import { fileURLToPath } from 'node:url'
import {
  type ChannelOptions,
  Client,
  type ClientDuplexStream,
  type ClientReadableStream,
  credentials,
  Metadata,
  type ServiceError,
  status,
} from '@grpc/grpc-js'
import {
  loadSync,
  type MessageTypeDefinition,
  type MethodDefinition,
  type PackageDefinition,
  type ServiceDefinition,
} from '@grpc/proto-loader'
import { InvalidInput, Outage } from '../errors.ts'
import { pause, retry } from '../retry.ts'
import {
  type Endpoint,
  endpointLabel,
  isNodeError,
  MAX_RESPONSE_BYTES,
  type OnBytes,
  RpcError,
} from './endpoint.ts'

/** Services of a file by their full name, `sui.rpc.v2.LedgerService`. */
export type GrpcServices = Readonly<Record<string, ServiceDefinition>>

/**
 * Reads a file of `schemas/proto/`. Messages become plain objects: 64-bit numbers are decimal texts, enums their symbols,
 * bytes buffers; what a message does not hold is absent, or its default where the format cannot tell the two apart.
 */
export const loadGrpcServices = (file: string): GrpcServices => {
  const definitions = Object.entries(loadDefinitions(file))
  return Object.fromEntries(definitions.filter((entry) => isService(entry[1]))) as GrpcServices
}

const loadDefinitions = (file: string): PackageDefinition => {
  const folder = fileURLToPath(new URL('../../schemas/proto/', import.meta.url))
  return loadSync(file, { includeDirs: [folder], longs: String, enums: String, defaults: true })
}

const isService = (definition: object): boolean => !('format' in definition)

/**
 * Reads bytes as a message of a file of `schemas/proto/`, by its full name, in the shape of `loadGrpcServices`. What is read throws
 * `InvalidInput`: `bad-protobuf`.
 */
export const makeProtobufDecoder = (
  file: string,
  name: string,
): ((bytes: Uint8Array) => object) => {
  const type = loadDefinitions(file)[name] as MessageTypeDefinition<object, object> | undefined
  if (type === undefined) throw new Error(`the proto file has no message ${name}`)
  return (bytes) => {
    try {
      return type.deserialize(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length))
    } catch (cause) {
      throw new InvalidInput(
        'bad-protobuf',
        `${bytes.length} bytes are not a valid ${name} message`,
        { cause },
      )
    }
  }
}

/** The status of a node that does not have what was asked for, as the code of an `RpcError`. */
export const NOT_FOUND = status.NOT_FOUND

/** Pings of a connection with a call on it: one that does not answer them is dead. */
const KEEPALIVE_MS = 30_000
const KEEPALIVE_TIMEOUT_MS = 10_000
/** Largest request; ours name a few fields. */
const MAX_REQUEST_BYTES = 1024 * 1024

const CHANNEL_OPTIONS: ChannelOptions = {
  'grpc.max_receive_message_length': MAX_RESPONSE_BYTES,
  'grpc.max_send_message_length': MAX_REQUEST_BYTES,
  'grpc.keepalive_time_ms': KEEPALIVE_MS,
  'grpc.keepalive_timeout_ms': KEEPALIVE_TIMEOUT_MS,
  'grpc.initial_reconnect_backoff_ms': 100,
  'grpc.max_reconnect_backoff_ms': 5_000,
  // Calls are repeated by their callers, and by no other layer.
  'grpc.enable_retries': 0,
  'grpc.service_config_disable_resolution': 1,
  'grpc.use_local_subchannel_pool': 1,
}

/** A gRPC node: calls and subscriptions as any other, and streams that also listen. */
export interface GrpcEndpoint extends Endpoint {
  /**
   * One stream from its request to its end. Resolves true when it ended or broke after a message, false when it ended without
   * any. Throws as `request` when it broke before; silence of a minute is a break.
   */
  stream(spec: StreamRequest, signal: AbortSignal): Promise<boolean>
}

/** What is asked of a stream, and what becomes of what it says. */
export interface StreamRequest {
  readonly method: string
  readonly request: object
  /** What it throws ends the stream. `send` reaches the node where the method takes a stream, `end` ends this one. */
  readonly onMessage: (message: unknown, stream: StreamControl) => void
}

/** The listener's hand on its stream. */
export interface StreamControl {
  send(request: object): void
  end(): void
}

/** What an endpoint is opened with. */
export interface GrpcOptions {
  readonly services: GrpcServices
  readonly timeoutMs: number
}

/**
 * A node behind gRPC: `http` and `grpc` addresses without, `https` and `grpcs` addresses with TLS. A user name in the address
 * is sent as `x-token`. The channel opens with the first call and again after it broke; calls are not repeated here. Throws
 * `InvalidInput` for a token that no header can hold.
 */
export const grpcEndpoint = (url: string, { services, timeoutMs }: GrpcOptions): GrpcEndpoint => {
  const { target, isSecure, metadata } = parseAddress(url)
  const safety = isSecure ? credentials.createSsl() : credentials.createInsecure()
  const client = new Client(target, safety, CHANNEL_OPTIONS)
  const stream: GrpcEndpoint['stream'] = (spec, signal) =>
    runStream({ client, method: findMethod(services, spec.method), metadata, spec }, signal)
  return {
    url,
    label: endpointLabel(url),
    request: ({ method, params }, signal, onBytes) => {
      const [request = {}] = params as readonly object[]
      const at = { deadline: Date.now() + timeoutMs, ...(onBytes && { onBytes }) }
      return makeUnaryCall(
        { client, method: findMethod(services, method), metadata, request, ...at },
        signal,
      )
    },
    stream,
    subscribe: ({ method, params }, onMessage, signal) => {
      const [request = {}] = params as readonly object[]
      keepStreaming((attempt) => stream({ method, request, onMessage }, attempt), signal)
    },
    close: () => client.close(),
  }
}

const parseAddress = (url: string) => {
  const { protocol, hostname, port, username } = new URL(url)
  const isSecure = protocol === 'https:' || protocol === 'grpcs:'
  const metadata = new Metadata()
  try {
    if (username !== '') metadata.set('x-token', decodeURIComponent(username))
  } catch (cause) {
    throw new InvalidInput('bad-token', `the token for ${hostname} is not a valid header value`, {
      cause,
    })
  }
  return { target: `${hostname}:${port || (isSecure ? '443' : '80')}`, isSecure, metadata }
}

type GrpcMethod = MethodDefinition<object, object>

/** `name` is `package.Service/Method`; one that is not in the file is a bug. */
const findMethod = (services: GrpcServices, name: string): GrpcMethod => {
  const [service = '', method = ''] = name.split('/')
  const found = services[service]?.[method]
  if (found === undefined) throw new Error(`the proto file has no method ${name}`)
  return found
}

interface UnaryCall {
  readonly client: Client
  readonly method: GrpcMethod
  readonly metadata: Metadata
  readonly request: object
  readonly deadline: number
  readonly onBytes?: OnBytes
}

const makeUnaryCall = (
  { client, method, metadata, request, deadline, onBytes }: UnaryCall,
  signal: AbortSignal,
): Promise<unknown> =>
  new Promise((resolve, reject) => {
    const { path, requestSerialize, responseDeserialize } = method
    const read = (bytes: Buffer): object => {
      onBytes?.(bytes.length)
      return responseDeserialize(bytes)
    }
    const call = client.makeUnaryRequest(
      ...([path, requestSerialize, read, request, metadata, { deadline }] as const),
      (error, answer) => {
        signal.removeEventListener('abort', cancel)
        if (error !== null) reject(signal.aborted ? signal.reason : toNodeError(error))
        else resolve(answer)
      },
    )
    const cancel = (): void => call.cancel()
    signal.addEventListener('abort', cancel, { once: true })
  })

/** What a status means: no answer, an invalid answer, or a refusal of a live node. */
const toNodeError = ({ code, details, message }: ServiceError): Error => {
  const said = (details || message).slice(0, 300)
  if (code === status.RESOURCE_EXHAUSTED && said.startsWith('Received message larger than max')) {
    return new InvalidInput('rpc-too-large', 'the response exceeds the size limit')
  }
  if (code === status.INTERNAL && said.startsWith('Response message parsing error')) {
    return new InvalidInput(
      'rpc-not-a-message',
      'the node answered something that is not a message',
    )
  }
  if (NO_RESPONSE_CODES.has(code)) return new Outage('rpc', `the node did not answer: ${said}`)
  return new RpcError(code, said, undefined)
}

/** After these the same request may succeed, here or elsewhere. Source: grpc/grpc doc/statuscodes.md. */
const NO_RESPONSE_CODES: ReadonlySet<number> = new Set([
  status.CANCELLED,
  status.UNKNOWN,
  status.DEADLINE_EXCEEDED,
  status.RESOURCE_EXHAUSTED,
  status.ABORTED,
  status.INTERNAL,
  status.UNAVAILABLE,
  status.DATA_LOSS,
])

/** A stream that says nothing for so long is taken for dead; chains that stream have several blocks a second. */
const STREAM_IDLE_TIMEOUT_MS = 60_000

type GrpcStream = ClientReadableStream<object> | ClientDuplexStream<object, object>

interface StreamCall extends Pick<UnaryCall, 'client' | 'method' | 'metadata'> {
  readonly spec: StreamRequest
}

const openStream = ({ client, method, metadata, spec }: StreamCall): GrpcStream => {
  const { path, requestSerialize, responseDeserialize, requestStream } = method
  const how = [path, requestSerialize, responseDeserialize] as const
  if (!requestStream) return client.makeServerStreamRequest(...how, spec.request, metadata)
  const stream = client.makeBidiStreamRequest(...how, metadata)
  stream.write(spec.request)
  return stream
}

const runStream = (one: StreamCall, signal: AbortSignal): Promise<boolean> =>
  new Promise((resolve, reject) => {
    const stream = openStream(one)
    let heard = false
    const cancel = (): void => stream.cancel()
    const broke = (error: unknown): void => settle(() => (heard ? resolve(true) : reject(error)))
    const silence = setTimeout(() => {
      broke(new Outage('rpc', `the stream was silent for ${STREAM_IDLE_TIMEOUT_MS} ms`))
    }, STREAM_IDLE_TIMEOUT_MS)
    const settle = (outcome: () => void): void => {
      clearTimeout(silence)
      signal.removeEventListener('abort', cancel)
      outcome()
      cancel()
    }
    const control: StreamControl = {
      send: (request) => {
        if ('write' in stream && stream.writable) stream.write(request)
      },
      end: () => settle(() => resolve(heard)),
    }
    signal.addEventListener('abort', cancel, { once: true })
    stream.on('data', (message: unknown) => {
      if (signal.aborted) return
      heard = true
      silence.refresh()
      try {
        one.spec.onMessage(message, control)
      } catch (cause) {
        broke(new InvalidInput('unreadable-answer', 'a message could not be read', { cause }))
      }
    })
    stream.on('error', (error: ServiceError) => {
      if (signal.aborted) settle(() => reject(signal.reason))
      else broke(toNodeError(error))
    })
    stream.on('end', () => settle(() => resolve(heard)))
  })

/** Pauses before a stream that ended or was refused is opened again. */
const RECONNECT_DELAYS = { firstMs: 500, maxMs: 15_000, tries: Number.POSITIVE_INFINITY } as const

/**
 * Opens a stream, and again whenever it ended, until the signal aborts. The pause grows while nothing is heard. `open` gets the
 * signal and resolves as `stream` does; null = never again.
 */
export const keepStreaming = (
  open: (signal: AbortSignal) => Promise<boolean | null>,
  signal: AbortSignal,
): void => {
  const one = async (): Promise<boolean> => {
    const heard = await open(signal)
    if (heard === false) throw new Outage('rpc', 'the stream ended before its first message')
    return heard === true
  }
  const forever = async (): Promise<void> => {
    while (await retry(one, { ...RECONNECT_DELAYS, signal, again: isNodeError })) {
      await pause(RECONNECT_DELAYS.firstMs, signal)
    }
  }
  forever().catch((error: unknown) => {
    if (!signal.aborted) throw error
  })
}
