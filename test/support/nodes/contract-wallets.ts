import { concatHex, getContractAddress, type Hex, serializeErc6492Signature } from 'viem'
import { until } from '../until.ts'
import type { TestWallet } from '../wallet-signer.ts'
import type { AnvilClient } from './anvil.ts'

/** A factory that anvil has from its first block: makes with CREATE2 what follows 32 bytes of salt. */
const FACTORY = '0x4e59b44847b379578588920cA78FbF26c0B4956C'
const SALT: Hex = `0x${'00'.repeat(32)}`

/**
 * `isValidSignature(bytes32 hash, bytes signature)` of a wallet with one owner, who signs with 65 bytes; what follows them is not looked at.
 * Its memory: hash, v, r, s as ecrecover reads them, and what that gives; 0 where it gives nothing.
 */
const walletCode = (owner: string): string =>
  [
    '6004355f52', // mem[0] = hash
    '60a4355f1a602052', // mem[32] = v, the first byte of the third word of the signature
    '604060646040' + '37', // mem[64..128] = r and s
    '602060a060805f60015afa50', // ecrecover(mem[0..128]) to mem[160]
    `60a05173${owner.slice(2).toLowerCase()}14`, // is it the owner?
    '631626ba7e60e01b025f52', // the magic value, or 0
    '60205ff3',
  ].join('')

/** Copies what stands behind it and leaves that as the contract. */
const initCode = (code: string): Hex => {
  const size = (code.length / 2).toString(16).padStart(2, '0')
  return `0x60${size}600c60003960${size}6000f3${code}`
}

/** A wallet that is a contract, and the call of its factory that makes it. */
export interface ContractWallet extends TestWallet {
  readonly factoryData: Hex
}

/** The wallet of an owner. It signs as its owner does, for its own address. */
export const contractWallet = (owner: TestWallet): ContractWallet => {
  const bytecode = initCode(walletCode(owner.address))
  return {
    kind: 'evm',
    address: getContractAddress({ opcode: 'CREATE2', from: FACTORY, salt: SALT, bytecode }),
    sign: (message) => owner.sign(message),
    factoryData: concatHex([SALT, bytecode]),
  }
}

/** The wallet before it is made: its signatures say how it is. */
export const undeployed = (wallet: ContractWallet): ContractWallet => ({
  ...wallet,
  sign: async (message): Promise<string> =>
    serializeErc6492Signature({
      address: FACTORY,
      data: wallet.factoryData,
      signature: (await wallet.sign(message)) as Hex,
    }),
})

/** Makes a wallet by its factory. */
export const deployWallet = async (
  client: AnvilClient,
  { factoryData, address }: ContractWallet,
): Promise<void> => {
  const hash = await client.sendTransaction({ to: FACTORY, data: factoryData, gas: 1_000_000n })
  await until(() => client.getTransactionReceipt({ hash }), 'the receipt of the factory')
  if ((await client.getCode({ address: address as Hex })) === undefined)
    throw new Error('the wallet was not made')
}

/** Contracts that are asked for a signature and have no good answer. */
export const ODD_CONTRACTS = {
  reverts: '0x5f5ffd',
  'reverts with a message of 1 KB': '0x6104005ffd',
  'burns all gas': '0x5b5f56',
  'has no such instruction': '0x0c',
  'says nothing': '0x00',
  'says zero': '0x60205ff3',
  'says the wrong word': '0x5f195f5260205ff3',
  'sends its input back': '0x365f5f37365ff3',
  'sends four bytes': '0x631626ba7e60e01b5f5260045ff3',
  'sends the magic value at the wrong end': '0x631626ba7e5f5260205ff3',
  'sends 1 MB': '0x621000005ff3',
} as const satisfies Readonly<Record<string, Hex>>
