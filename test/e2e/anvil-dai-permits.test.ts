/** Swaps through the real V3 router on a real node that carry a signed permit of the sold token in DAI's form. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import {
  type Address,
  decodeFunctionData,
  encodeFunctionData,
  type Hex,
  parseAbi,
  parseEther,
  parseSignature,
  parseTransaction,
} from 'viem'
import type { SwapRouteResponse } from '../../schemas/api/swap.ts'
import { type Anvil, devAccount, startAnvil } from '../support/nodes/anvil.ts'
import { DAI_PERMIT_ABI, deployDaiToken, PERMIT_TOKEN_ABI } from '../support/nodes/permit-token.ts'
import { deployUniswap, type UniswapContracts } from '../support/nodes/uniswap-contracts.ts'
import { type ContractQuoter, deployContractQuoter } from '../support/nodes/uniswap-quoter.ts'
import { chainExtraOf } from '../support/nodes/uniswap-v2-v3.ts'
import { COIN, type SwapStack, startSwapStack, type WantedSwap } from '../support/swap-stack.ts'
import { until } from '../support/until.ts'

const FULL = [-887_220, 887_220] as const
const EVERYTHING = (1n << 256n) - 1n
const NAME = 'Dai Stablecoin'
const MULTICALL = parseAbi(['function multicall(bytes[] data) payable'])
const SELF_PERMIT = parseAbi([
  'function selfPermitAllowedIfNecessary(address token, uint256 nonce, uint256 expiry, uint8 v, bytes32 r, bytes32 s) payable',
])

let anvil: Anvil
let uniswap: UniswapContracts
let quoteByContract: ContractQuoter
let stack: SwapStack
/** Its permits have the form of EIP-2612. */
let usd: Address
let dai: Address
const amount = parseEther('900') + 3n
const signer = devAccount(1)
const owner = signer.address

before(async () => {
  anvil = await startAnvil()
  const { client } = anvil
  uniswap = await deployUniswap(client, parseEther('6000'))
  const { weth, v2Factory, v3Factory, v3Router, v3Positions } = uniswap
  quoteByContract = await deployContractQuoter(client, uniswap)
  usd = await uniswap.newToken()
  dai = await deployDaiToken(client, NAME, [v3Positions, v3Router])
  const amounts = [parseEther('2000000'), parseEther('1000')] as const
  const v2Usd = await uniswap.addV2([usd, weth], amounts)
  const v3Usd = await uniswap.openV3([usd, weth], 3_000, [2_000n, 1n])
  await uniswap.mintV3([usd, weth], 3_000, { ticks: FULL, amounts })
  await uniswap.swapV2([usd, weth], parseEther('2000'))
  await uniswap.swapV3([usd, weth], 3_000, parseEther('2000'))
  await uniswap.openV3([dai, weth], 3_000, [1_000n, 1n])
  const deep = [parseEther('500000'), parseEther('500')] as const
  await uniswap.mintV3([dai, weth], 3_000, { ticks: FULL, amounts: deep })
  await uniswap.swapV3([dai, weth], 3_000, parseEther('1000'))
  for (const token of [usd, dai]) {
    await client.writeContract({
      address: token,
      abi: PERMIT_TOKEN_ABI,
      functionName: 'transfer',
      gas: 200_000n,
      args: [owner, parseEther('900000')],
    })
  }
  stack = await startSwapStack(anvil, {
    ...chainExtraOf({ usd, weth, v2Factory, v3Factory, v2Usd, v3Usd }),
    routers: [{ protocol: 'uniswap_v3', router: v3Router.toLowerCase() }],
  })
  await buildNow({ sold: dai, bought: usd, amount })
})
after(async () => {
  await stack?.stop()
  await anvil.stop()
})

type Wanted = Omit<WantedSwap, 'dex'>

const asked = (wanted: Wanted) => ({ dex: 'uniswap_v3', ...wanted, owner })

/** What the API builds once it knows the pools as the contracts have them. */
const buildNow = (wanted: Wanted, more: object = {}): Promise<SwapRouteResponse> =>
  until(async () => {
    const { status, body } = await stack.build(asked(wanted), more)
    assert.equal(status, 200, JSON.stringify(body))
    for (const hop of body.routeInfo.hops) {
      const isExactIn = wanted.exactIn ?? true
      const expected = await quoteByContract(hop, isExactIn)
      assert.equal(BigInt(isExactIn ? hop.outAmount : hop.inAmount), expected)
    }
    return body
  }, 'a route as the contracts have it')

type AnyPermit = Extract<SwapRouteResponse['permitData'], { readonly primaryType: 'Permit' }>
type Permit = Omit<AnyPermit, 'message'> & {
  readonly message: Extract<AnyPermit['message'], { readonly holder: string }>
}

const sign = (permit: object, by = signer): Promise<Hex> => by.signTypedData(permit as never)

/** The typed data that an answer asks to be signed, beside its approval. */
const permitOf = async (wanted: Wanted, more: object = {}): Promise<Permit> => {
  const { permitData, approval, routeInfo } = await buildNow(wanted, more)
  assert.ok(permitData?.primaryType === 'Permit' && 'holder' in permitData.message)
  assert.equal(routeInfo.simulated, false)
  const router = uniswap.v3Router.toLowerCase()
  assert.deepEqual([approval?.token, approval?.spender], [wanted.sold.toLowerCase(), router])
  return { ...permitData, message: permitData.message }
}

const read = (functionName: 'allowance' | 'nonces'): Promise<bigint> => {
  const contract = { address: dai, abi: PERMIT_TOKEN_ABI } as const
  return functionName === 'nonces'
    ? anvil.client.readContract({ ...contract, functionName, args: [owner] })
    : anvil.client.readContract({ ...contract, functionName, args: [owner, uniswap.v3Router] })
}

/** Mines what was built; what was paid and what arrived, gas apart. */
const mine = async ({ sold, bought }: Wanted, body: SwapRouteResponse) => {
  assert.equal(body.routeInfo.simulated, true)
  assert.deepEqual([body.approval, body.permitData], [undefined, undefined])
  assert.equal(body.tx?.to, uniswap.v3Router.toLowerCase())
  const before = [await stack.heldBy(owner, sold), await stack.heldBy(owner, bought)] as const
  const gas = await stack.signAndMine(signer, body.txHex as Hex)
  const paid = before[0] - (await stack.heldBy(owner, sold))
  const got = (await stack.heldBy(owner, bought)) - before[1] + (bought === COIN ? gas : 0n)
  return [paid, got] as const
}

/** How a call ends that an account sends. */
const statusOf = async (to: Address, data: Hex, account = signer): Promise<string> => {
  const hash = await anvil.client.sendTransaction({ account, to, data, gas: 1_000_000n })
  return (await until(() => anvil.client.getTransactionReceipt({ hash }), 'a receipt')).status
}

const replay = (hex: string | undefined): Promise<string> => {
  const { to, data } = parseTransaction(hex as Hex)
  return statusOf(to as Address, data as Hex)
}

/** A permit as a call of the token. */
const permitCall = ({ message }: Permit, signature: Hex): Hex => {
  const { r, s, yParity } = parseSignature(signature)
  const { nonce, expiry, allowed } = message
  const addresses = [message.holder as Address, message.spender as Address] as const
  return encodeFunctionData({
    abi: DAI_PERMIT_ABI,
    args: [...addresses, BigInt(nonce), BigInt(expiry), allowed, 27 + yParity, r, s],
  })
}

/** The allowance stays until it is revoked, so that the next swap needs a permit again. */
const revoke = async (): Promise<void> => {
  const args = [uniswap.v3Router, 0n] as const
  const data = encodeFunctionData({ abi: PERMIT_TOKEN_ABI, functionName: 'approve', args })
  assert.equal(await statusOf(dai, data), 'success')
  assert.equal(await read('allowance'), 0n)
}

test("swaps with a signed permit of DAI's form are mined in one transaction, and pay the amounts of their route", async () => {
  const { weth, v3Router } = uniswap
  const cases = [
    { sold: dai, bought: weth, amount },
    { sold: dai, bought: usd, amount },
    { sold: dai, bought: COIN, amount: parseEther('0.7'), exactIn: false },
  ]
  for (const [index, wanted] of cases.entries()) {
    const permitData = await permitOf(wanted, { deadline: 4_000_000_000 })
    const { domain, message } = permitData
    const contract = { chainId: 1, verifyingContract: dai.toLowerCase() }
    assert.deepEqual(domain, { name: NAME, version: '1', ...contract })
    assert.deepEqual(message, {
      holder: owner.toLowerCase(),
      spender: v3Router.toLowerCase(),
      nonce: String(index),
      expiry: '4000000000',
      allowed: true,
    })
    const signature = await sign(permitData)
    const body = await buildNow(wanted, { permit: signature, permitData })
    const { data = '0x' } = parseTransaction(body.txHex as Hex)
    const [first = '0x'] = decodeFunctionData({ abi: MULTICALL, data }).args[0]
    const { r, s, v } = parseSignature(signature)
    const [token, ...words] = decodeFunctionData({ abi: SELF_PERMIT, data: first }).args
    assert.equal(token.toLowerCase(), dai)
    assert.deepEqual(words, [BigInt(index), 4_000_000_000n, Number(v), r, s])
    const { inAmount, outAmount } = body.routeInfo
    assert.deepEqual(await mine(wanted, body), [BigInt(inAmount), BigInt(outAmount)])
    assert.equal(await read('nonces'), BigInt(index + 1))
    assert.equal(await read('allowance'), EVERYTHING)
    const next = await buildNow(wanted)
    assert.deepEqual([next.approval, next.permitData], [undefined, undefined])
    assert.equal(next.routeInfo.simulated, true)
    await revoke()
  }
})

const refusalOf = (answer: { readonly status: number; readonly body: object }) => {
  const { code, details } = answer.body as {
    readonly code?: number
    readonly details?: { readonly reason?: string }
  }
  return [answer.status, code, details?.reason]
}

interface Change {
  readonly domain?: object
  readonly message?: object
}

/** A permit with other words. */
const changed = (permit: Permit, { domain, message }: Change): Permit => ({
  ...permit,
  domain: { ...permit.domain, ...domain },
  message: { ...permit.message, ...message },
})

test("a permit of DAI's form that does not match the swap, allows nothing or has no end is refused", async () => {
  const wanted = { sold: dai, bought: uniswap.weth, amount }
  const good = await permitOf(wanted)
  const refusal = async (more: object, by: Wanted = wanted) =>
    refusalOf(await stack.build(asked(by), more))
  const past = String(Math.floor(Date.now() / 1_000) - 1)
  const cases = [
    [{ message: { allowed: false } }, 400, 40002, 'allowed'],
    [{ message: { expiry: past } }, 400, 40031, 'expiry'],
    [{ message: { expiry: '0' } }, 400, 40002, 'without_expiry'],
    [{ message: { holder: devAccount(2).address } }, 400, 40002, 'other_owner'],
    [{ message: { spender: uniswap.v2Router } }, 400, 40002, 'other_spender'],
    [{ message: { nonce: String(BigInt(good.message.nonce) + 1n) } }, 400, 40002, 'nonce'],
    [{ domain: { chainId: 137 } }, 400, 40002, 'other_chain'],
    [{ domain: { verifyingContract: usd } }, 400, 40002, 'other_token'],
    [{ domain: { name: 'Other' } }, 400, 40002, 'other_domain'],
    [{ domain: { version: '2' } }, 400, 40002, 'other_domain'],
  ] as const
  for (const [change, ...expected] of cases) {
    const permitData = changed(good, change)
    const signature = await sign(permitData)
    const found = await refusal({ permit: signature, permitData })
    assert.deepEqual(found, expected, JSON.stringify(change))
    // A call has no domain: there the signature tells.
    const inCall = await refusal({ permit: permitCall(permitData, signature) })
    assert.deepEqual(inCall, 'domain' in change ? [400, 40026, undefined] : expected)
  }
  const permit = await sign(good)
  const later = changed(good, { message: { expiry: String(BigInt(good.message.expiry) + 1n) } })
  const badSignature = [400, 40026, undefined]
  assert.deepEqual(await refusal({ permit, permitData: later }), badSignature)
  const byOther = await sign(good, devAccount(2))
  assert.deepEqual(await refusal({ permit: byOther, permitData: good }), badSignature)
  const endless = changed(good, { message: { expiry: '9'.repeat(78) } })
  assert.deepEqual(await refusal({ permit, permitData: endless }), badSignature)
  assert.deepEqual(await refusal({ permitData: good }), [400, 40002, 'signature_missing'])
  const mixed = { ...good, message: { ...good.message, owner: 7 } }
  assert.deepEqual(await refusal({ permit, permitData: mixed }), [400, 40002, 'form'])
  for (const allowed of ['true', 1, null, undefined]) {
    const permitData = { ...good, message: { ...good.message, allowed } }
    assert.deepEqual((await refusal({ permit, permitData })).slice(0, 2), [400, 40001])
  }
  const universal = await refusal({ permit, permitData: good, router: 'universal' })
  assert.deepEqual(universal.slice(0, 2), [400, 40002])
  assert.equal((await stack.build(asked(wanted), { permit, permitData: good })).status, 200)
})

test('a permit of the other form is refused, for either token', async () => {
  const wanted = { sold: dai, bought: uniswap.weth, amount }
  const good = await permitOf(wanted)
  const ofUsd = changed(good, {
    domain: { name: 'Test Token', verifyingContract: usd },
  })
  const answer = await stack.build(asked({ ...wanted, sold: usd }), {
    permit: await sign(ofUsd),
    permitData: ofUsd,
  })
  assert.deepEqual(refusalOf(answer), [400, 40002, 'other_form'])
  const { holder, spender, nonce, expiry } = good.message
  const fields = ['address owner', 'address spender', 'uint256 value', 'uint256 nonce']
  const types = [...fields, 'uint256 deadline'].map((field) => {
    const [type, name] = field.split(' ')
    return { name, type }
  })
  const message = { owner: holder, spender, value: `${amount}`, nonce, deadline: expiry }
  const eip2612 = { ...good, types: { Permit: types }, message }
  const other = await stack.build(asked(wanted), {
    permit: await sign(eip2612),
    permitData: eip2612,
  })
  assert.deepEqual(refusalOf(other), [400, 40002, 'other_form'])
})

test('a permit is taken once: after its allowance is revoked, API and token refuse its nonce', async () => {
  const wanted = { sold: dai, bought: uniswap.weth, amount }
  const permitData = await permitOf(wanted)
  const permit = await sign(permitData)
  const body = await buildNow(wanted, { permit, permitData })
  await mine(wanted, body)
  await revoke()
  const again = await stack.build(asked(wanted), { permit, permitData })
  assert.deepEqual(refusalOf(again), [400, 40002, 'nonce'])
  const inCall = await stack.build(asked(wanted), { permit: permitCall(permitData, permit) })
  assert.deepEqual(refusalOf(inCall), [400, 40002, 'nonce'])
  assert.equal(await replay(body.txHex), 'reverted')
})

test('a permit that another account submits first does not stop the swap', async () => {
  const wanted = { sold: dai, bought: COIN, amount }
  const permitData = await permitOf(wanted)
  const permit = await sign(permitData)
  const body = await buildNow(wanted, { permit, permitData })
  const submitted = await statusOf(dai, permitCall(permitData, permit), devAccount(6))
  assert.equal(submitted, 'success')
  const { inAmount, outAmount } = body.routeInfo
  assert.deepEqual(await mine(wanted, body), [BigInt(inAmount), BigInt(outAmount)])
  await revoke()
})

test('a permit encoded as a call of the token needs no permitData, and goes to the V3 router whatever dex says', async () => {
  const wanted = { sold: dai, bought: uniswap.weth, amount }
  const permitData = await permitOf(wanted)
  const permit = permitCall(permitData, await sign(permitData)).slice(2)
  const { status, body } = await stack.build({ ...asked(wanted), dex: 'auto' }, { permit })
  assert.equal(status, 200, JSON.stringify(body))
  const { inAmount, outAmount } = body.routeInfo
  assert.deepEqual(await mine(wanted, body), [BigInt(inAmount), BigInt(outAmount)])
  await revoke()
})

test('the token refuses a permit of another signer, chain or meaning, and one that is over', async () => {
  const wanted = { sold: dai, bought: uniswap.weth, amount }
  const soon = Math.floor(Date.now() / 1_000) + 600
  const good = await permitOf(wanted)
  const expiring = changed(good, { message: { expiry: String(soon) } })
  const permit = await sign(expiring)
  const deadline = soon + 36_000
  const { txHex = '' } = await buildNow(wanted, { permit, permitData: expiring, deadline })
  const wordsOf = (signature: Hex): string => {
    const [r, s, v] = [signature.slice(2, 66), signature.slice(66, 130), signature.slice(130)]
    return `${v.padStart(64, '0')}${r}${s}`
  }
  assert.ok(txHex.includes(wordsOf(permit)))
  const others = [
    await sign(expiring, devAccount(2)),
    await sign(changed(expiring, { domain: { chainId: 137 } })),
    await sign(changed(expiring, { message: { allowed: false } })),
  ]
  for (const other of others) {
    const forged = txHex.replace(wordsOf(permit), wordsOf(other))
    assert.notEqual(forged, txHex)
    assert.equal(await replay(forged), 'reverted')
  }
  await anvil.client.setNextBlockTimestamp({ timestamp: BigInt(soon) + 1n })
  assert.equal(await replay(txHex), 'reverted')
  const longer = await permitOf(wanted, { deadline })
  const again = await buildNow(wanted, { permit: await sign(longer), permitData: longer, deadline })
  assert.equal(await replay(again.txHex), 'success')
})
