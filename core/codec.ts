import { readFileSync } from 'node:fs'
import type avsc from 'avsc'
import { MESSAGE_NAMES } from '../schemas/expand.ts'
import { avroType, codecOver } from './codec-avro.ts'
import type { Codec, MessageName } from './codec-contract.ts'
import { Malformed } from './fault.ts'

/** Names of all messages, in the order that gives the local schema ids. */
export const messageNames = MESSAGE_NAMES as readonly MessageName[]

/** Text of a message's `.avsc` file, as it is registered. */
export const schemaText = (message: MessageName): string =>
  readFileSync(new URL(`../schemas/avro/${message}.avsc`, import.meta.url), 'utf8')

/** Codec without a registry: the `.avsc` files, ids 1, 2, 3... in the order of `messageNames`. */
export const localCodec = (): Codec => {
  const ids = new Map(messageNames.map((name, index) => [name, index + 1]))
  const idOf = (message: MessageName): number => ids.get(message) ?? 0
  return codecOver(ownTypes(), {
    writerId: idOf,
    resolver: (message, id) => {
      if (id === idOf(message)) return null
      throw new Malformed('unknown-schema', `${message}: schema id ${id} is not ours`)
    },
  })
}

/** Our own type of every message. */
export const ownTypes = (): ReadonlyMap<MessageName, avsc.Type> =>
  new Map(messageNames.map((name) => [name, avroType(schemaText(name))]))
