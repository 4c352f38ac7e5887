import { createRequire } from 'node:module'
import { type Abi, type Address, encodeAbiParameters, getAddress, type Hex } from 'viem'
import { until } from '../until.ts'
import type { AnvilClient } from './anvil.ts'

const require = createRequire(import.meta.url)

/** What compilers leave: creation code as text, or in a field of its own. */
interface Artifact {
  readonly bytecode: string | { readonly object: string }
}

/** A constructor's arguments. */
interface Arguments {
  readonly types: readonly string[]
  readonly values: readonly unknown[]
}

/** A call that changes the chain. */
interface Write {
  readonly address: Address
  readonly abi: Abi
  readonly functionName: string
  readonly args: readonly unknown[]
  readonly value?: bigint
}

/** Puts compiled contracts on a local node. Every transaction is waited for, and one that fails throws. */
export interface Deployer<Name extends string> {
  deploy(name: Name, types: readonly string[], values: readonly unknown[]): Promise<Address>
  write(address: Address, abi: Abi, functionName: string, args: readonly unknown[]): Promise<Hex>
  /** Pays the chain's coin with the call. */
  pay(write: Write): Promise<Hex>
}

const creationCode = (path: string, { types, values }: Arguments): Hex => {
  const { bytecode } = require(path) as Artifact
  const code = typeof bytecode === 'string' ? bytecode : bytecode.object
  const args = encodeAbiParameters(
    types.map((type) => ({ type })),
    values,
  )
  return `0x${code.replace(/^0x/, '')}${args.slice(2)}`
}

/**
 * viem's own wait asks again when the next block comes. A node that mines per transaction may show the block before the receipt, and
 * there is no next block then.
 */
const waitForReceipt = (client: AnvilClient, hash: Hex) =>
  until(() => client.getTransactionReceipt({ hash }), `receipt of ${hash}`)

/** `artifacts` are modules of packages, by the name under which they are deployed. */
export const createDeployer = <Name extends string>(
  client: AnvilClient,
  artifacts: Readonly<Record<Name, string>>,
): Deployer<Name> => {
  const pay = async ({ functionName, ...call }: Write): Promise<Hex> => {
    const hash = await client.writeContract({ ...call, functionName, gas: 8_000_000n })
    const { status } = await waitForReceipt(client, hash)
    if (status !== 'success') throw new Error(`${functionName} failed`)
    return hash
  }
  return {
    pay,
    deploy: async (name, types, values) => {
      const data = creationCode(artifacts[name], { types, values })
      const hash = await client.sendTransaction({ data })
      const { contractAddress } = await waitForReceipt(client, hash)
      if (!contractAddress) throw new Error(`${name} was not deployed`)
      return getAddress(contractAddress)
    },
    write: (address, abi, functionName, args) => pay({ address, abi, functionName, args }),
  }
}

/** Tokens in the order in which pools keep them. */
export const sortTokens = <const Tokens extends readonly Address[]>(...tokens: Tokens): Tokens =>
  tokens.toSorted((a, b) =>
    a.toLowerCase() < b.toLowerCase() ? -1 : 1,
  ) as readonly Address[] as Tokens
