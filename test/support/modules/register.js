/**
 * Preloaded by every process and thread of a test run (`--import` in NODE_OPTIONS): sources and large packages come from what
 * the run prepared once, instead of through tsx, which takes twice as long. Without the preparation it changes nothing.
 */
import { existsSync } from 'node:fs'
import { register } from 'node:module'
import { PACKAGES_FILE } from './prepared.js'

if (existsSync(PACKAGES_FILE)) {
  register('./hooks.js', import.meta.url)
  process.setSourceMapsEnabled(true)
}
