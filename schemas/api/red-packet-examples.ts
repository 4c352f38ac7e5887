const CREATOR = '0x19e7e376e7c213b7e7e7e46cc70a5dd086daff2a'
const CLAIMER = '0x00000000000000000000000000000000000000a1'
const CONTRACT = '0x00000000000000000000000000000000000000c0'
const WETH = '0xc02aaa39b223fe8d0a0e5c4f27ead9083c756cc2'
const PACKET_ID = `0x${'1d'.repeat(32)}`
const SHARE_ID = '7TqVxm3Kfa'
const TX = `0x${'5c'.repeat(32)}`
const TIME_MS = 1_767_614_400_000
const DAY_SECONDS = 86_400

const PACKET = {
  chain: 'eth',
  id: PACKET_ID,
  shareId: SHARE_ID,
  txHash: TX,
  creator: CREATOR,
  mint: WETH,
  totalAmount: '1000000000000000000',
  memo: 'Happy new year',
  maxClaims: 10,
  claimAuthority: CLAIMER,
  expired: false,
  expiration: DAY_SECONDS,
  createdAt: TIME_MS,
  expiredAt: TIME_MS + DAY_SECONDS * 1_000,
  claimedCount: 1,
  claimedAmount: '120000000000000',
  refundedAmount: '0',
  status: 'active',
  mode: 'random',
}
const CLAIM = {
  packetId: PACKET_ID,
  chain: 'eth',
  claimer: CLAIMER,
  creator: CREATOR,
  mint: WETH,
  amount: PACKET.claimedAmount,
  claimedAt: TIME_MS + 60_000,
  txHash: TX,
}
const PACKET_V1 = { ...PACKET, claimedAmount: Number(PACKET.claimedAmount) }
const page = (record: object) => ({
  records: [record],
  total: 1,
  hasNextPage: false,
  hasMore: false,
  startCursor: null,
  endCursor: null,
  nextCursor: '',
})

const TRANSACTION = {
  txSerialize: 'AvgZAQIDBAWU',
  txHex: '0x02f81901020304059494',
  tx: {
    chainId: 1,
    nonce: 7,
    to: CONTRACT,
    data: '0xf0331024',
    value: '0',
    gas: '210000',
    maxFeePerGas: '30000000000',
    maxPriorityFeePerGas: '1500000000',
  },
}

/** Examples of the parameters of red packets, by name. */
export const RED_PACKET_PARAMETERS: Readonly<Record<string, unknown>> = { creator: CREATOR }

/** Examples of the named schemas of red packets: the recorded chains have none. */
export const RED_PACKET_EXAMPLES: Readonly<Record<string, unknown>> = {
  RedPacket: PACKET,
  RedPacketV1: PACKET_V1,
  RedPacketClaim: CLAIM,
  RedPacketsPage: page(PACKET),
  RedPacketsPageV1: page(PACKET_V1),
  RedPacketClaimsPage: page(CLAIM),
  CreateRedPacketInput: {
    creator: CREATOR,
    mint: WETH,
    maxClaims: 10,
    totalAmount: PACKET.totalAmount,
    memo: PACKET.memo,
    password: 'open sesame',
  },
  CreateRedPacketResponse: {
    ...TRANSACTION,
    shareId: SHARE_ID,
    packetId: PACKET_ID,
    simulated: true,
  },
  RedPacketApproval: { token: WETH, spender: CONTRACT, data: '0x095ea7b3' },
  ClaimRedPacketInput: { claimer: CLAIMER, shareId: SHARE_ID, password: 'open sesame' },
  ClaimRedPacketResponse: TRANSACTION,
  SendRedPacketInput: { signedTx: TRANSACTION.txHex },
  SendRedPacketResponse: { signature: TX, jobId: `job_${TX.slice(2)}` },
}
