// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

/// A token with 18 decimals that takes signed permits (EIP-2612), for tests on a local node. How it names its domain, and the form of
/// permit that it states, are chosen when it is made, so that some of it need not be true.
contract PermitToken {
    bytes32 private constant DOMAIN_TYPE =
        keccak256("EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)");
    bytes32 private constant PERMIT_TYPE =
        keccak256("Permit(address owner,address spender,uint256 value,uint256 nonce,uint256 deadline)");
    uint256 private constant HALF_ORDER = 0x7FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF5D576E7357A4501DDFE92F46681B20A0;

    string public name;
    string public constant symbol = "PMT";
    uint8 public constant decimals = 18;
    uint256 public totalSupply;
    mapping(address => uint256) public balanceOf;
    mapping(address => mapping(address => uint256)) public allowance;
    mapping(address => uint256) public nonces;
    bytes32 public PERMIT_TYPEHASH;

    string private domainName;
    string private domainVersion;
    bool private isDescribed;

    event Transfer(address indexed from, address indexed to, uint256 value);
    event Approval(address indexed owner, address indexed spender, uint256 value);

    constructor(
        string memory name_,
        string memory domainName_,
        string memory version,
        bool isDescribed_,
        bytes32 permitType,
        uint256 supply
    ) {
        name = name_;
        domainName = domainName_;
        domainVersion = version;
        isDescribed = isDescribed_;
        PERMIT_TYPEHASH = permitType;
        totalSupply = supply;
        balanceOf[msg.sender] = supply;
        emit Transfer(address(0), msg.sender, supply);
    }

    function DOMAIN_SEPARATOR() public view returns (bytes32) {
        return keccak256(
            abi.encode(
                DOMAIN_TYPE, keccak256(bytes(domainName)), keccak256(bytes(domainVersion)), block.chainid, address(this)
            )
        );
    }

    /// The domain in words (EIP-5267).
    function eip712Domain()
        external
        view
        returns (bytes1, string memory, string memory, uint256, address, bytes32, uint256[] memory)
    {
        require(isDescribed, "not described");
        return (hex"0f", domainName, domainVersion, block.chainid, address(this), bytes32(0), new uint256[](0));
    }

    function permit(address owner, address spender, uint256 value, uint256 deadline, uint8 v, bytes32 r, bytes32 s)
        external
    {
        require(block.timestamp <= deadline, "permit is expired");
        require(uint256(s) <= HALF_ORDER, "high s");
        bytes32 message = keccak256(abi.encode(PERMIT_TYPE, owner, spender, value, nonces[owner]++, deadline));
        address signer = ecrecover(keccak256(abi.encodePacked("\x19\x01", DOMAIN_SEPARATOR(), message)), v, r, s);
        require(signer != address(0) && signer == owner, "invalid signature");
        allow(owner, spender, value);
    }

    function approve(address spender, uint256 value) external returns (bool) {
        allow(msg.sender, spender, value);
        return true;
    }

    function transfer(address to, uint256 value) external returns (bool) {
        move(msg.sender, to, value);
        return true;
    }

    function transferFrom(address from, address to, uint256 value) external returns (bool) {
        require(allowance[from][msg.sender] >= value, "allowance is too small");
        allowance[from][msg.sender] -= value;
        move(from, to, value);
        return true;
    }

    function allow(address owner, address spender, uint256 value) private {
        allowance[owner][spender] = value;
        emit Approval(owner, spender, value);
    }

    function move(address from, address to, uint256 value) private {
        require(balanceOf[from] >= value, "amount exceeds balance");
        balanceOf[from] -= value;
        balanceOf[to] += value;
        emit Transfer(from, to, value);
    }
}
