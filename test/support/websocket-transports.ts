import type { Transport } from '../../serving/realtime/start-socket-server.ts'
import { loadUws } from '../../serving/realtime/uws-server.ts'
import { tryStart } from './optional-dependency.ts'

const uws = await tryStart('uWebSockets.js', loadUws)

/** Libraries that carry sockets on this machine: `ws` everywhere, uWebSockets.js where a binary of it fits. */
export const TRANSPORTS: readonly Transport[] = uws ? ['uws', 'ws'] : ['ws']
