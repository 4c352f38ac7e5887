import type { Transport } from '../../serving/realtime/start-socket-server.ts'
import { loadUws } from '../../serving/realtime/uws.ts'
import { orExplain } from './or-explain.ts'

const uws = await orExplain('uWebSockets.js', loadUws)

/** Libraries that carry sockets on this machine: `ws` everywhere, uWebSockets.js where a binary of it fits. */
export const TRANSPORTS: readonly Transport[] = uws ? ['uws', 'ws'] : ['ws']
