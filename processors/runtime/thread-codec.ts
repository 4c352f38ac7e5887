import type { MessagePort } from 'node:worker_threads'
import type { Codec } from '../../core/codec/contract.ts'
import { localCodec, openStoredSchemas } from '../../core/codec/local-codec.ts'
import { type RegistryConnection, registryCodec } from '../../core/codec/registry-codec.ts'
import { forwardWarnings } from '../../core/runtime/thread-warning.ts'

/** Where a thread finds the schemas of the records. */
export interface ThreadCodecData {
  /** Null: the log is embedded. */
  readonly registry: RegistryConnection | null
  /** File of the schemas beside an embedded log; absent: they are our own. */
  readonly schemas?: string
}

/**
 * The codec of a thread, opened when it is first wanted; a registry that does not answer is asked again the next time. `port` leads to
 * the thread that logs what the codec warns of.
 */
export const makeThreadCodec = (
  { registry, schemas }: ThreadCodecData,
  port: Pick<MessagePort, 'postMessage'> | null,
): (() => Promise<Codec>) => {
  let opened: Codec | undefined
  return async () => {
    opened ??=
      registry === null
        ? localCodec(schemas === undefined ? undefined : openStoredSchemas(schemas))
        : await registryCodec({ ...registry, log: forwardWarnings(port) })
    return opened
  }
}
