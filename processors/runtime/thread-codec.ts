import type { Codec } from '../../core/codec/contract.ts'
import { localCodec, openStoredSchemas } from '../../core/codec/local-codec.ts'
import { type RegistryConnection, registryCodec } from '../../core/codec/registry-codec.ts'
import { makeSilentLogger } from '../../core/ops/logger.ts'

/** Where a thread finds the schemas of the records. */
export interface ThreadCodecData {
  /** Null: the log is embedded. */
  readonly registry: RegistryConnection | null
  /** File of the schemas beside an embedded log; absent: they are our own. */
  readonly schemas?: string
}

/** The codec of a thread, opened when it is first wanted; a registry that does not answer is asked again the next time. */
export const makeThreadCodec = ({ registry, schemas }: ThreadCodecData): (() => Promise<Codec>) => {
  let opened: Codec | undefined
  return async () => {
    opened ??=
      registry === null
        ? localCodec(schemas === undefined ? undefined : openStoredSchemas(schemas))
        : await registryCodec({ ...registry, log: makeSilentLogger() })
    return opened
  }
}
