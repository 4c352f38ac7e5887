// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

/// Gifts of a token or of the chain's coin that several addresses share: who creates one pays it in, each claimer takes one
/// share, and what is left after the end goes back. A packet with an authority is claimed with that authority's signature.
contract RedPackets {
    struct Packet {
        address creator;
        uint64 expiresAt;
        uint16 maxClaims;
        uint16 claimed;
        bool isRandom;
        address token;
        address authority;
        uint256 remaining;
    }

    uint256 private constant MAX_MEMO_BYTES = 256;
    uint64 private constant MAX_DURATION = 365 days;
    uint256 private constant HALF_ORDER = 0x7FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF5D576E7357A4501DDFE92F46681B20A0;

    mapping(bytes32 => Packet) public packets;
    mapping(bytes32 => mapping(address => bool)) public hasClaimed;
    bool private entered;

    event PacketCreated(
        bytes32 indexed id,
        address indexed creator,
        address token,
        uint256 total,
        uint16 maxClaims,
        bool isRandom,
        uint64 expiresAt,
        address authority,
        string memo
    );
    event PacketClaimed(bytes32 indexed id, address indexed claimer, uint256 amount, uint16 index);
    event PacketRefunded(bytes32 indexed id, uint256 amount);

    modifier once() {
        require(!entered, "reentered");
        entered = true;
        _;
        entered = false;
    }

    /// Known before the transaction is mined: what the creator chooses decides it.
    function packetId(address creator, bytes32 salt) public view returns (bytes32) {
        return keccak256(abi.encode(block.chainid, address(this), creator, salt));
    }

    /// What an authority signs (EIP-191) to let one address claim.
    function claimDigest(bytes32 id, address claimer) public view returns (bytes32) {
        bytes32 message = keccak256(abi.encode(block.chainid, address(this), id, claimer));
        return keccak256(abi.encodePacked("\x19Ethereum Signed Message:\n32", message));
    }

    /// `token` 0: the chain's coin. `authority` 0: anyone may claim. Of tokens that take a fee what arrives counts.
    function create(
        bytes32 salt,
        address token,
        uint256 total,
        uint16 maxClaims,
        bool isRandom,
        uint64 duration,
        address authority,
        string calldata memo
    ) external payable once returns (bytes32 id) {
        require(maxClaims > 0, "no claims");
        require(duration > 0 && duration <= MAX_DURATION, "wrong duration");
        require(bytes(memo).length <= MAX_MEMO_BYTES, "memo is too long");
        id = packetId(msg.sender, salt);
        require(packets[id].creator == address(0), "packet exists");
        uint256 received = total;
        if (token == address(0)) {
            require(msg.value == total, "wrong value");
        } else {
            require(msg.value == 0, "wrong value");
            received = pull(token, total);
        }
        require(received >= maxClaims, "less than a unit for each claim");
        uint64 expiresAt = uint64(block.timestamp) + duration;
        packets[id] =
            Packet(msg.sender, expiresAt, maxClaims, 0, isRandom, token, authority, received);
        emit PacketCreated(
            id, msg.sender, token, received, maxClaims, isRandom, expiresAt, authority, memo
        );
    }

    function claim(bytes32 id, bytes calldata signature) external once returns (uint256 amount) {
        Packet storage packet = packets[id];
        require(packet.creator != address(0), "no such packet");
        require(block.timestamp < packet.expiresAt, "packet has expired");
        require(packet.claimed < packet.maxClaims, "packet is claimed out");
        require(!hasClaimed[id][msg.sender], "claimed already");
        if (packet.authority != address(0)) {
            address signer = recover(claimDigest(id, msg.sender), signature);
            require(signer == packet.authority, "invalid signature");
        }
        amount = share(packet, id);
        hasClaimed[id][msg.sender] = true;
        uint16 index = packet.claimed;
        packet.claimed = index + 1;
        packet.remaining -= amount;
        pay(packet.token, msg.sender, amount);
        emit PacketClaimed(id, msg.sender, amount, index);
    }

    /// Gives what is left back to the creator, whoever calls.
    function refund(bytes32 id) external once returns (uint256 amount) {
        Packet storage packet = packets[id];
        require(packet.creator != address(0), "no such packet");
        require(block.timestamp >= packet.expiresAt, "packet has not expired");
        amount = packet.remaining;
        require(amount > 0, "nothing is left");
        packet.remaining = 0;
        pay(packet.token, packet.creator, amount);
        emit PacketRefunded(id, amount);
    }

    /// Equal shares, or on average equal ones that leave at least one unit for each claim to come; the last takes the rest.
    function share(Packet storage packet, bytes32 id) private view returns (uint256) {
        uint256 left = packet.maxClaims - packet.claimed;
        uint256 remaining = packet.remaining;
        if (left == 1) return remaining;
        uint256 average = remaining / left;
        if (!packet.isRandom) return average;
        uint256 random =
            uint256(keccak256(abi.encode(block.prevrandao, id, msg.sender, remaining, packet.claimed)));
        // At most twice the average: a whole range above that would leave less than a unit for some.
        return 1 + random % (2 * average - 1);
    }

    function pull(address token, uint256 amount) private returns (uint256) {
        uint256 before = balance(token);
        callToken(token, abi.encodeWithSelector(0x23b872dd, msg.sender, address(this), amount));
        return balance(token) - before;
    }

    function balance(address token) private view returns (uint256) {
        (bool success, bytes memory data) =
            token.staticcall(abi.encodeWithSelector(0x70a08231, address(this)));
        require(success && data.length >= 32, "not a token");
        return abi.decode(data, (uint256));
    }

    function pay(address token, address to, uint256 amount) private {
        if (token == address(0)) {
            (bool success,) = to.call{value: amount}("");
            require(success, "payment failed");
        } else {
            callToken(token, abi.encodeWithSelector(0xa9059cbb, to, amount));
        }
    }

    /// Some tokens return nothing where others return true.
    function callToken(address token, bytes memory data) private {
        (bool success, bytes memory answer) = token.call(data);
        require(success && token.code.length > 0, "token call failed");
        require(answer.length == 0 || abi.decode(answer, (bool)), "token refused");
    }

    function recover(bytes32 digest, bytes calldata signature) private pure returns (address signer) {
        require(signature.length == 65, "invalid signature");
        bytes32 r = bytes32(signature[0:32]);
        bytes32 s = bytes32(signature[32:64]);
        require(uint256(s) <= HALF_ORDER, "invalid signature");
        signer = ecrecover(digest, uint8(signature[64]), r, s);
        require(signer != address(0), "invalid signature");
    }
}
