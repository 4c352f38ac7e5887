import { hkdfSync, scrypt } from 'node:crypto'
import { promisify } from 'node:util'
import { type Hex, recoverMessageAddress } from 'viem'
import { type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts'
import { createQueryQueue } from '../queries/query-queue.ts'

/**
 * The account that a password stands for, of one packet. Throws `Fault` CONCURRENCY_LIMIT while too many of the organization wait, SERVER_BUSY
 * while too many of all do.
 */
export type PasswordAuthority = (
  packetId: string,
  password: string,
  orgId: string,
) => Promise<PrivateKeyAccount>

const KEY_BYTES = 32
/**
 * Keys that are derived at once: half of the threads that files and names are read with (libuv's default of four), one of them for an
 * organization. A hundred may wait, about two seconds of work, ten of an organization.
 */
const LIMITS = { running: 2, runningPerOrg: 1, waiting: 100, waitingPerOrg: 10, waitMs: 5_000 }
/** Work of one guess: 16 MiB and some 40 ms. Source: RFC 7914, and the defaults of Node's `scrypt`. */
const COST = { N: 16_384, r: 8, p: 1 }
/** Order of secp256k1: keys lie below it. Source: SEC 2. */
const ORDER = BigInt('0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141')

const derive = promisify<string, Buffer, number, typeof COST, Buffer>(scrypt)

/**
 * Makes the authorities of passwords. A packet with a password names on the chain the account whose key follows from the password, the
 * packet and the installation's secret: nothing is stored, every API node can sign for it, and who does not know the secret cannot
 * try passwords against the chain.
 */
export const createPasswordAuthority = (secret: string): PasswordAuthority => {
  const root = Buffer.from(hkdfSync('sha256', secret, '', 'red packet passwords', KEY_BYTES))
  const turns = createQueryQueue(LIMITS)
  return async (packetId, password, orgId) => {
    const salt = Buffer.concat([root, Buffer.from(packetId)])
    const bytes = await turns.run(orgId, () =>
      derive(password.normalize('NFC'), salt, KEY_BYTES, COST),
    )
    const key = (BigInt(`0x${bytes.toString('hex')}`) % (ORDER - 1n)) + 1n
    return privateKeyToAccount(`0x${key.toString(16).padStart(2 * KEY_BYTES, '0')}` as Hex)
  }
}

/** Who signed a message (EIP-191), lower case; empty where the signature is none. */
export const signerOfMessage = async (message: Hex, signature: Hex): Promise<string> => {
  try {
    return (await recoverMessageAddress({ message: { raw: message }, signature })).toLowerCase()
  } catch {
    return ''
  }
}
